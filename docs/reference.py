"""The pages of the reference: every public name, room by room, with the first sentence of its docstring."""

from __future__ import annotations

import shutil
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from typing import Any, NamedTuple


class Section(NamedTuple):
    """A page of the reference: the public names of some modules, under a title and a sentence."""

    title: str
    sentence: str
    modules: tuple[str, ...]
    estimators: bool = False  # of estimators alone


FAMILIES = (
    ("AdditiveClassifier", "AdditiveRegressor", "AdditiveRanker", "LPBoostClassifier", "CGEnsClassifier"),
    ("LPBoostClassifier", "LPBoostRegressor", "LPBoostRanker", "ColumnGenerationClassifier"),
    ("ColumnGenerationClassifier", "ColumnGenerationRegressor", "ColumnGenerationSurvival"),
    ("CGEnsClassifier", "CGEnsSLSClassifier", "InfiniteEnsembleSVC"),
    ("AdaBoostClassifier", "AdaBoostMHClassifier", "AdaBoostECCClassifier", "MultiBoostClassifier"),
    ("AdaBoostClassifier", "RegAdaBoostClassifier", "LPBoostClassifier"),
    ("InfiniteEnsembleSVC", "PriceSearchCV", "InfiniteEnsembleSVR"),
    ("RhoSVC", "PartialSVMEnsembleClassifier", "InfiniteEnsembleSVC"),
    ("SupervisedKernelRLSClassifier", "SupervisedKernelRLSRegressor"),
)
"""Estimators that readers of a page of one of them may look for."""

SECTIONS = (
    Section(
        "Estimators",
        "Models in the manner of scikit-learn; each fitted one has its `certificate_`. "
        ":doc:`How to choose </learn/choose>`, and :doc:`what each takes and gives </estimators>`.",
        ("cvxens",),
        estimators=True,
    ),
    Section("Beside estimators", "Constraints, certificates of any model, saved files, and the language.", ("cvxens",)),
    Section(
        "Formulations",
        "A loss, a penalty and a linear map: modelled in cvxpy, evaluated and certified in numpy.",
        ("cvxens.problems", "cvxens.problems.formulations"),
    ),
    Section(
        "Losses",
        "What a formulation pays for margins, scores or pairs of scores, each with its conjugate.",
        ("cvxens.problems.losses", "cvxens.problems.target_losses", "cvxens.problems.pair_losses"),
    ),
    Section(
        "Penalties", "What a formulation pays for weights, each with its conjugate.", ("cvxens.problems.penalties",)
    ),
    Section(
        "Column generation",
        "The driver, what flows through it, and what may be swapped in it.",
        ("cvxens.colgen",),
    ),
    Section("Oracles", "Weak learners: which hypothesis has a large edge.", ("cvxens.colgen.oracles",)),
    Section("Masters", "Solvers of the problem over the columns so far.", ("cvxens.colgen.masters",)),
    Section("Hypotheses", "The functions h(x) that ensembles weigh.", ("cvxens.hypotheses",)),
    Section("Kernels", "Sets of hypotheses embodied as kernels.", ("cvxens.kernels",)),
    Section(
        "Certificates and proofs",
        "How far a point is from the optimum: in floating point at once, in rational numbers for anybody to check.",
        ("cvxens.certificates", "cvxens.proofs", "cvxens.crosscheck"),
    ),
    Section(
        "Effects and reports",
        "What a model is the sum of, and a page for people who have to decide by it.",
        ("cvxens.effects", "cvxens.report"),
    ),
    Section("Solvers", "Fast paths for problems over kernels.", ("cvxens.solvers", "cvxens.solvers.additive")),
    Section("Plotting", "Displays of runs and fitted models.", ("cvxens.plotting",)),
    Section("Data", "Generators, files, and tables as people have them.", ("cvxens.datasets", "cvxens.tables")),
    Section("Dask", "The same where no machine has all rows.", ("cvxens.dask",)),
    Section("Export", "Fitted models for other runtimes.", ("cvxens.export",)),
    Section("Errors", "All that the library raises of its own, and how runs end.", ("cvxens.errors", "cvxens.limits")),
)


def public_names(module: str) -> list[str]:
    """Return the public classes and functions of a module: those that it lists, or else those that it defines."""
    room = import_module(module)
    listed = getattr(room, "__all__", None)
    if listed is None:
        listed = [name for name, of in vars(room).items() if getattr(of, "__module__", "") == module]
    return sorted(
        (name for name in listed if is_documented(getattr(room, name)) and not name.startswith("_")), key=str.lower
    )


def is_documented(of: Any) -> bool:
    """Return True for classes and functions, which have pages of their own."""
    return isclass(of) or isfunction(of)


def entries() -> dict[Section, dict[str, list[str]]]:
    """Return what is on each page, by module; what several modules export is where it is met first."""
    seen: set[int] = set()
    found: dict[Section, dict[str, list[str]]] = {}
    for section in SECTIONS:
        for module in section.modules:
            room = import_module(module)
            fresh = [name for name in public_names(module) if id(getattr(room, name)) not in seen]
            fresh = [name for name in fresh if not section.estimators or hasattr(getattr(room, name), "fit")]
            seen.update(id(getattr(room, name)) for name in fresh)
            found.setdefault(section, {})[module] = fresh
    return found


def near(estimator: str) -> list[str]:
    """Return the other estimators of the families that one is of."""
    others = [name for family in FAMILIES if estimator in family for name in family if name != estimator]
    return list(dict.fromkeys(others))


def heading(text: str, mark: str) -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{mark * len(text)}\n"


def listing(module: str, names: list[str]) -> str:
    """Return the table of some names of a module, each with a page of its own."""
    rows = "\n".join(f"   {name}" for name in names)
    return f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{rows}\n"


def write(folder: Path) -> None:
    """Write a page for every section and one over all of them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stems = []
    for section, modules in entries().items():
        stem = section.title.lower().replace(" ", "_")
        stems.append(stem)
        parts = [heading(section.title, "="), section.sentence + "\n"]
        for module, names in modules.items():
            parts += [listing(*group) for group in grouped(module, names)] if names else []
        (folder / f"{stem}.rst").write_text("\n".join(parts))
    toc = "\n".join(f"   {stem}" for stem in stems)
    intro = "Every public name, sorted by what one does with it."
    (folder / "index.rst").write_text(
        f"{heading('Reference', '=')}\n{intro}\n\n.. toctree::\n   :maxdepth: 1\n\n{toc}\n"
    )


def grouped(module: str, names: list[str]) -> list[tuple[str, list[str]]]:
    """Return the names of a module that are listed together."""
    return [(module, names)]
