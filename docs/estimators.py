"""Write what every estimator takes and gives as estimators.md beside this file: `python docs/estimators.py`."""

import re
from inspect import getdoc, isclass, signature
from pathlib import Path

from sklearn.base import is_classifier

from cvxens import estimators
from cvxens.estimators.samples import ORACLES

HEAD = """# What estimators take and give

Read off the classes by `python docs/estimators.py`. An entry with a parameter holds where it is given; `oracle` is that
of ensembles, `estimator` the classifier that a search is over. Probabilities that are calibrated are those of
`sklearn.calibration.CalibratedClassifierCV(model, ensemble=False)`.

"""

TITLES = (
    *("estimator", "probabilities", "weights of classes", "weights of samples", "price chosen", "missing values"),
    *("categories", "sparse X", "several classes"),
)


def list_public():
    """Return all public estimators, as they are by default."""
    found = {name: getattr(estimators, name) for name in estimators.__all__}
    return {name: kind() for name, kind in found.items() if isclass(kind) and hasattr(kind, "fit")}


def describe(name, model):
    """Return a row of the table."""
    parameters = signature(type(model)).parameters
    searched = "estimator" in parameters
    classifier = is_classifier(model)

    def has(parameter, words):
        return words if parameter in parameters else "by `estimator`" if searched else ""

    return {
        "estimator": f"`{name}`",
        "probabilities": "yes" if hasattr(model, "predict_proba") else "calibrated" if classifier else "",
        "weights of classes": has("class_weight", "`class_weight`"),
        "weights of samples": "yes" if "sample_weight" in signature(type(model).fit).parameters else "",
        "price chosen": "yes" if searched else '`C="auto"`' if takes_auto(model) else "",
        "missing values": accept(model, "missing"),
        "categories": accept(model, "nominal"),
        "sparse X": accept(model, "sparse"),
        "several classes": has_parts(model) if classifier else "",
    }


def takes_auto(model):
    """Return True if the parameter C may be "auto"."""
    return bool(re.search(r'^C : float or "auto"', getdoc(type(model)), re.MULTILINE))


def has_parts(model):
    """Say how several classes are learnt."""
    if "estimator" in signature(type(model)).parameters:
        return "by `estimator`"
    return "each by itself" if model.one_by_one else "at once"


def accept(model, kind):
    """Say whether X may be of a kind, by default or with which oracles."""
    if not hasattr(model, "_accepts"):
        return ""
    if getattr(model._accepts(), kind):
        return "yes"
    if "oracle" not in model.get_params():
        return ""
    names = [name for name in ORACLES if getattr(type(model)(oracle=name)._accepts(), kind)]
    return "`oracle=" + "`, `".join(f'"{name}"' for name in names[:3]) + "`" if names else ""


def write():
    """Return the page."""
    rows = [describe(name, model) for name, model in list_public().items()]
    lines = ["| " + " | ".join(row[title] for title in TITLES) + " |" for row in rows]
    return HEAD + "\n".join(["| " + " | ".join(TITLES) + " |", "|---" * len(TITLES) + "|", *lines]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(write())
