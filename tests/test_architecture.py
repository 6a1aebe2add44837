"""The house rules: which room may import which, and where a library may appear."""

import ast
import inspect
from collections import defaultdict
from enum import Enum
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import cvxens

PACKAGE = Path(cvxens.__file__).parent
TESTS = Path(__file__).parent

BASE = {"types", "errors", "validation", "limits", "rounding", "docstrings"}

ROOMS = {
    "types": set(),
    "__main__": {"cli"},
    "errors": {"types"},
    "docstrings": set(),
    "validation": {"types", "errors"},
    "limits": {"types", "errors", "validation"},
    "compensated": {"types"},
    "rounding": {"types", "compensated"},
    "certificates": BASE,
    "problems": BASE | {"compensated", "certificates", "features"},
    "hypotheses": BASE | {"features", "tables", "trees"},
    "proofs": BASE | {"hypotheses", "certificates", "problems"},
    "effects": BASE | {"hypotheses", "features", "tables", "trees"},
    "kernels": BASE | {"hypotheses", "certificates", "problems", "features", "trees"},
    "features": BASE,
    "trees": BASE | {"tables"},
    "storage": BASE,
    "tables": BASE,
    "datasets": BASE | {"storage", "tables"},
    "colgen": BASE
    | {
        "hypotheses",
        "certificates",
        "problems",
        "kernels",
        "features",
        "tables",
        "trees",
        "storage",
        "solvers",
        "proofs",
    },
    "solvers": BASE | {"compensated", "hypotheses", "certificates", "problems", "kernels", "features"},
    "report": BASE | {"storage", "certificates", "effects", "features", "plotting"},
    "estimators": BASE
    | {
        "effects",
        "report",
        "hypotheses",
        "certificates",
        "problems",
        "kernels",
        "features",
        "tables",
        "trees",
        "storage",
        "colgen",
        "solvers",
        "proofs",
    },
    "dask": BASE | {"hypotheses", "certificates", "problems", "features", "solvers", "colgen", "estimators"},
    "export": BASE | {"hypotheses", "kernels", "colgen", "estimators", ""},
    "plotting": BASE | {"features", "hypotheses", "effects", "certificates", "colgen"},
    "crosscheck": BASE | {"certificates", "problems", "kernels", "colgen", "solvers"},
    "cli": BASE
    | {
        "certificates",
        "problems",
        "kernels",
        "colgen",
        "solvers",
        "estimators",
        "export",
        "crosscheck",
        "datasets",
        "report",
        "storage",
        "tables",
        "proofs",
        "",
    },
    "": set(),
}
"""What each room may import; the package itself is the room without a name."""

LIBRARIES = {
    "cvxpy": ("problems.modelling",),
    "matplotlib": ("plotting",),
    "click": ("cli",),
    "rich": ("cli", "estimators.base"),
    "numba": (
        "compensated",
        "limits",
        "features",
        "hypotheses",
        "trees",
        "kernels",
        "colgen.oracles",
        "colgen.masters",
        "solvers",
        "dask",
    ),
    "dask": ("dask",),
    "distributed": ("dask",),
    "clarabel": ("problems.conic", "problems.cones", "colgen.masters"),
    "highspy": ("colgen.masters",),
    "onnx": ("export",),
    "pyarrow": ("datasets.reading",),
    "flint": ("proofs.vertices",),
    "lazy_loader": ("", "problems.modelling"),
}
"""Where a library may be imported: in these modules and what is below them."""

WITHIN = {
    "problems.losses": {"problems.modelling", "problems.duality", "problems.linear_dual"},
    "problems.target_losses": {"problems.losses", "problems.modelling", "problems.duality", "problems.linear_dual"},
    "problems.penalties": {
        "problems.constraints",
        "problems.curves",
        "problems.linear_dual",
        "problems.modelling",
        "problems.duality",
        "problems.losses",
        "problems.structure",
    },
    "problems.structure": {"problems.curves"},
    "problems.constraints": {"problems.modelling"},
    "problems.curves": set(),
    "problems.modelling": set(),
    "problems.duality": set(),
    "colgen.protocols": set(),
    "problems.linear_dual": set(),
    "colgen.oracles": {"colgen.protocols", "colgen.oracles"},
    "estimators.samples": set(),
    "estimators.explanations": set(),
    "estimators.base": {"estimators.explanations", "estimators.samples", "estimators.saving"},
    "estimators.constraints": {"estimators.explanations", "estimators.samples"},
    "estimators.prices": {"estimators.base", "estimators.samples"},
    "estimators.machines": {"estimators.base", "estimators.explanations", "estimators.samples"},
}
"""What modules that others build on may import of their own room."""

NOT_NAMES = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}

PUBLIC = [
    "certificates", "colgen", "colgen.masters", "colgen.oracles", "crosscheck", "dask", "datasets", "effects",
    "estimators", "export", "kernels", "plotting", "problems", "proofs", "report", "solvers", "solvers.additive",
    "solvers.blockwise", "trees",
]  # fmt: skip

SHOWN_ELSEWHERE = {
    "BallMaster": "made by column_generation over balls, as KernelBalls shows",
    "Boosted": "what adaboost returns, which shows it",
    "BoostingRound": "a row of what adaboost returns",
    "BoostingStep": "what boosting_steps yields, which shows it",
    "Checked": "what check_formulation returns, which shows it",
    "Column": "what an oracle hands over: shown in Oracle",
    "Workers": "given to a ShardedSample, which shows it",
    "ConicMaster": "made by column_generation, which shows it",
    "CvxpyMaster": "made by column_generation, which shows it",
    "DenseColumns": "made of an array by every problem",
    "Feature": "what a Table consists of",
    "HighsMaster": "made by column_generation, which shows it",
    "NewtonMaster": "made by column_generation, which shows it",
    "InteriorPointMaster": "made by column_generation, which shows it",
    "LeastSquaresExperts": "what least_squares_experts returns, which shows it",
    "LeastSquaresMaster": "made by column_generation, which shows it",
    "LowRankKernel": "what incomplete_cholesky returns, which shows it",
    "LowRankRhoSVM": "what solve_low_rank_rho_svm returns, which shows it",
    "MasterSolution": "what a master hands over",
    "PartialSVMEnsemble": "what partial_svms returns, which shows it",
    "Priced": "what an oracle hands over: shown in Oracle",
    "Proof": "what prove returns, which shows it",
    "RegAdaBoostRound": "what reg_adaboost_rounds yields, which shows it",
    "Round": "a row of a run's history",
    "Row": "what crosscheck yields, which shows it",
    "Run": "what column_generation returns, which shows it",
    "SVMSolution": "what solve_additive_svm and solve_blockwise return, which show it",
    "Sample": "what crosscheck takes, which shows it",
    "Samples": "what load_samples returns, which shows it",
    "Side": "half of a Row",
    "Signed": "shown where boosting over all stumps is",
    "Step": "what iterate yields",
    "Tree": "what fit_tree returns, which shows it",
    "Update": "what adaptive_updates yields, which shows it",
    "fastest_master": "called by column_generation",
    "named": "the command line's way to a formulation",
}
"""Public things without an example of their own, and why."""


def name_of(path):
    """The dotted name of a module inside the package, without "cvxens."; "" is the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TEST_FILES = sorted(TESTS.rglob("test_*.py"))


@cache
def parse(path):
    """Read a file where a test asks for it: every worker collects all tests, and one of them runs these."""
    return ast.parse(path.read_text())


def room(module):
    return module.partition(".")[0]


def below(module, places):
    return any(module == place or (place and module.startswith(f"{place}.")) for place in places)


@cache
def imported(module):
    """The full names of everything that a module imports, whether they are modules or names in one."""
    names = []
    for node in ast.walk(parse(MODULES[module])):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name is from"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def own(name):
    """The module of the package that a full name is in, without "cvxens."; None for another library's."""
    first, _, rest = name.partition(".")
    if first != "cvxens":
        return None
    while rest not in MODULES and rest:
        rest = rest.rpartition(".")[0]
    return rest


def own_imports(module):
    return {target for name in imported(module) if (target := own(name)) is not None}


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_every_room_is_known():
    assert {room(module) for module in MODULES} == ROOMS.keys()


def test_the_rooms_are_in_one_order():
    assert set(TopologicalSorter(ROOMS).static_order()) == ROOMS.keys()


def test_imports_run_one_way_between_rooms():
    others = {(module, name) for module in MODULES for name in own_imports(module) if room(name) != room(module)}
    assert {(module, name) for module, name in others if room(name) not in ROOMS[room(module)]} == set()


def test_imports_run_one_way_within_a_room():
    inside = [(module, name) for module in WITHIN for name in MODULES if below(name, [module])]
    targets = {(module, target) for module, name in inside for target in own_imports(name)}
    of_room = {(module, target) for module, target in targets if room(target) == room(module)}
    assert {(module, target) for module, target in of_room if not below(target, WITHIN[module])} == set()


def test_no_import_is_circular_those_of_types_alone_included():
    graph = defaultdict(set)
    for module in MODULES:
        graph[module] = {name for name in own_imports(module) if name != module and module}
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


def test_libraries_stay_where_they_belong():
    users = {(module, name.partition(".")[0]) for module in MODULES for name in imported(module)}
    kept = {(module, library) for module, library in users if library in LIBRARIES}
    assert {library for _, library in kept} == LIBRARIES.keys()
    assert {(module, library) for module, library in kept if not below(module, LIBRARIES[library])} == set()


def test_cvxpy_is_reached_through_modelling_and_in_problems_and_colgen_only():
    users = {module for module in MODULES for name in imported(module) if name.endswith(".modelling.cp")}
    assert {room(module) for module in users} <= {"problems", "colgen"}
    assert "colgen.loop" not in users


def test_dynamic_imports_are_those_of_lazy_loader():
    lazy = {module for module, path in MODULES.items() if "lazy_loader." in path.read_text()}
    assert lazy <= {"", "problems.modelling"}
    assert {module for module, path in MODULES.items() if "importlib" in path.read_text()} == set()


def test_a_module_says_what_it_is():
    assert [module for module, path in MODULES.items() if not ast.get_docstring(parse(path))] == []
    assert [module for module in MODULES if not NOT_NAMES.isdisjoint(module.split("."))] == []


def test_nothing_prints_but_the_command_line():
    nodes = ((module, node) for module, path in MODULES.items() for node in ast.walk(parse(path)))
    calls = [(module, node) for module, node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    printing = {module for module, call in calls if call.func.id == "print"}
    # the checker of proofs is run by itself
    assert printing <= {"proofs.checker"}


def needs_no_example(thing):
    return getattr(thing, "_is_protocol", False) or inspect.isabstract(thing) or _is_enum(thing)


def _is_enum(thing):
    return inspect.isclass(thing) and issubclass(thing, Enum)


@pytest.mark.parametrize("package", PUBLIC)
def test_what_is_public_is_documented_and_shown(package):
    module = import_module(f"cvxens.{package}")
    public = {name: getattr(module, name) for name in module.__all__}
    texts = {name: inspect.getdoc(it) for name, it in public.items() if inspect.isclass(it) or inspect.isfunction(it)}
    assert [name for name, text in texts.items() if not text] == []
    shown = {name for name, text in texts.items() if "Examples\n--------" in text}
    assert shown == {name for name in texts if not needs_no_example(public[name]) and name not in SHOWN_ELSEWHERE}


def test_what_is_shown_elsewhere_exists():
    names = {name for package in PUBLIC for name in import_module(f"cvxens.{package}").__all__}
    assert SHOWN_ELSEWHERE.keys() <= names


def asserts(function, asserting):
    """Whether a function checks something, by itself or through a function that does."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in asserting or called.startswith("assert_") or ast.unparse(node.func) == "pytest.raises":
                return True
    return False


def test_every_test_checks_something():
    support = [parse(path) for path in sorted(TESTS.rglob("*.py")) if path not in TEST_FILES]
    shared = {f.name for tree in support for f in functions(tree) if asserts(f, ())}
    for path in TEST_FILES:
        found = functions(parse(path))
        local = {f.name for f in found if not f.name.startswith("test_") and asserts(f, shared)}
        tests = [f for f in found if f.name.startswith("test_")]
        assert tests, path
        assert [f.name for f in tests if not asserts(f, shared | local)] == []


def test_test_files_have_names_of_their_own():
    names = [path.name for path in TESTS.rglob("*.py") if path.name != "conftest.py"]
    assert len(set(names)) == len(names)


def test_no_test_is_left_out():
    nodes = ((path.name, node) for path in TEST_FILES for node in ast.walk(parse(path)))
    marks = {(name, ast.unparse(node)) for name, node in nodes if isinstance(node, ast.Attribute)}
    left_out = {f"pytest.{mark}" for mark in ("skip", "xfail", "mark.skip", "mark.skipif", "mark.xfail")}
    assert {(name, mark) for name, mark in marks if mark in left_out} == set()
