"""What importing loads, and that every name that others rely on resolves."""

import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import cvxens
from cvxens.problems import Problem

ROOMS = [
    "certificates", "cli", "colgen", "crosscheck", "dask", "datasets", "errors", "estimators", "export", "features",
    "kernels", "plotting", "problems", "solvers", "storage", "tables", "trees", "types", "validation",
]  # fmt: skip

RELIED_ON = {
    "cvxens": "Certificate Formulation Run certify column_generation __version__"
    " AdaBoostClassifier LPBoostClassifier CGEnsClassifier CGEnsSLSClassifier ColumnGenerationClassifier"
    " AdaBoostECCClassifier AdaBoostMHClassifier MultiBoostClassifier"
    " RhoSVC PartialSVMEnsembleClassifier RegAdaBoostClassifier",
    "cvxens.problems": "SVMPrimal SVMDual HardMarginBoosting SoftMarginBoosting InfiniteSVM LPBoost RhoSVM"
    " EntropyProjection RegularizedExpLoss SLSSVM RegularizedLeastSquares",
    "cvxens.colgen": "column_generation Formulation masters oracles iterate Oracle Master Priced MasterSolution Column",
    "cvxens.colgen.oracles": "Stumps Perceptrons Fourier Trees SklearnLearner",
    "cvxens.kernels": "Stump SimplifiedStump MiddleStump Perceptron",
    "cvxens.certificates": "certify Certificate",
    "cvxens.datasets": "load load_file make_twonorm make_threenorm make_ringnorm",
    "cvxens.plotting": "BoundaryDisplay ConvergenceDisplay GapDisplay MarginDisplay PathDisplay"
    " SelectionDisplay ShapeDisplay Trace",
    "cvxens.export": "to_onnx",
    "cvxens.crosscheck": "crosscheck Sample Row Side",
    "cvxens.dask": "DaskLPBoostClassifier DaskCGEnsClassifier DaskColumnGenerationClassifier"
    " DaskInfiniteEnsembleSVC DaskStumps",
    "cvxens.errors": "CvxensError InvalidInput DataFileError NotSeparable SolverFailed SolverFallbackWarning",
    "cvxens.types": "Solution Attempt",
}


SHOW = """
import sys
lazy = {name for name, module in sys.modules.items() if type(module).__name__ == "_LazyModule"}
print(*{name.partition(".")[0] for name in sys.modules.keys() - lazy})
"""


def loaded_by(*statements):
    """Packages in memory after each statement, in one new process; a lazy module only counts when it is used."""
    script = "".join(f"{statement}\n{SHOW}" for statement in statements)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    return [set(line.split()) for line in done.stdout.splitlines()]


def test_attributes_load_what_they_need_and_modelling_a_problem_loads_cvxpy():
    problem = "cvxens.problems.SVMDual([[1, 0], [0, 1]], [1, -1], 1.0)"
    statements = ["import cvxens; dir(cvxens)", "cvxens.datasets.make_twonorm", "cvxens.certify", problem]
    package, generator, certify, formulated, modelled = loaded_by(*statements, f"{problem}.problem")
    assert "cvxens" in package
    assert package.isdisjoint({"cvxpy", "matplotlib", "numba", "sklearn", "highspy", "scipy"})
    assert generator.isdisjoint({"cvxpy", "matplotlib", "numba", "sklearn"})
    assert certify.isdisjoint({"cvxpy", "matplotlib", "numba"})
    assert formulated.isdisjoint({"cvxpy", "matplotlib", "numba"})
    assert "cvxpy" in modelled


FIT = "cvxens.{}.fit([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]], [0, 1, 1, 0])"


def test_rooms_load_no_library_that_few_need_and_highs_is_loaded_by_linear_programs_alone():
    others = ["AdaBoostClassifier(n_rounds=2)", "InfiniteEnsembleSVC()", "MultiBoostClassifier()", "RhoSVC()"]
    rooms = "; ".join(f"import cvxens.{room}" for room in ROOMS)
    fits = (FIT.format(estimator) for estimator in [*others, "LPBoostClassifier()"])
    imported, *without, with_linear_programs = loaded_by(rooms, *fits)
    assert "numba" in imported
    assert imported.isdisjoint({"cvxpy", "matplotlib", "onnx", "highspy"})
    assert all("highspy" not in loaded for loaded in without)
    assert "highspy" in with_linear_programs


def test_every_name_of_the_package_resolves():
    assert set(cvxens.__all__) <= set(dir(cvxens))
    assert all(getattr(cvxens, name) is not None for name in cvxens.__all__)
    named = {}
    exec("from cvxens import *", named)
    assert set(cvxens.__all__) <= named.keys()


@pytest.mark.parametrize("name", ["nonsense", "utils"])
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=name):
        getattr(cvxens, name)


@pytest.mark.parametrize("module", RELIED_ON)
def test_names_that_others_rely_on(module):
    names = RELIED_ON[module].split()
    assert [name for name in names if not hasattr(import_module(module), name)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_room_resolves(room):
    module = import_module(f"cvxens.{room}")
    exported = getattr(module, "__all__", [])
    assert [name for name in exported if not hasattr(module, name)] == []
    assert list(exported) == sorted(exported, key=lambda name: (not name.isupper(), name[0].islower(), name))


@pytest.mark.parametrize("name", RELIED_ON["cvxens.problems"].split())
def test_every_formulation_keeps_the_contract(name):
    formulation = getattr(import_module("cvxens.problems"), name)
    assert issubclass(formulation, Problem)
    assert all(hasattr(formulation, attribute) for attribute in ("problem", "solve", "certify", "equation", "source"))


def test_the_version_is_stated_once():
    stated = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["version"]
    assert cvxens.__version__ == version("cvxens") == stated


def test_the_package_is_typed():
    assert (Path(cvxens.__file__).parent / "py.typed").is_file()
