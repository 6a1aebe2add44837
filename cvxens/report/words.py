"""What a certificate says, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Any

from sklearn.base import is_regressor

from cvxens.certificates import Certificate
from cvxens.plotting.display import name_problems

HYPOTHESES = {
    "stumps": "thresholds of single features",
    "quantile_stumps": "thresholds of single features at their quantiles",
    "ramps": "hinge functions of single features",
    "additive": "steps, lines and pairs of features",
    "depth_two_trees": "trees of two features",
    "depth_three_trees": "trees of three features",
    "pair_rules": "rules of two conditions",
    "boxes": "rules of some conditions",
    "trees": "decision trees",
    "perceptrons": "half-spaces",
    "fourier": "waves",
}
"""What the hypotheses of the oracles are, in the plural."""

MEAN = "a mean of"
"""What the note of a certificate says of an average of ensembles."""

TO_ROUNDING = 1e-9
"""A relative gap that people need not read the digits of."""


def describe_proof(certificate: Certificate, tol: float | None, what: str, over: str) -> str:
    """Say what a certificate proves of `what`, such as "the objective": the strongest of the sentences that holds.

    `over` names the set of hypotheses, where the certificate is about one.

    Examples
    --------
    >>> describe_proof(Certificate(1.0, 0.99, 0.01, 0.01, {}, {}, True), 0.05, "the objective", "")
    'Proven: the objective is within 1 % of the best possible (asked: 5 %).'

    A mean of ensembles, each of which is as good as was asked at its own price, is further from the best at one:

    >>> note = "over every hypothesis of the oracle, of a mean of 3 ensembles"
    >>> mean = Certificate(1.0, 0.98, 0.02, 0.02, {}, {}, True, note=note)
    >>> describe_proof(mean, 0.001, "the objective", "all stumps")
    'Proven: the objective of a mean of 3 ensembles is within 2 % of the best possible over all stumps.'
    """
    if certificate.about:
        sentence = describe_proof(replace(certificate, about=""), tol, what, over)
        return f"{certificate.about[0].upper()}{certificate.about[1:]}. {sentence}"
    among = f" over {over}" if "hypothes" in certificate.note else ""
    asked = "" if tol is None else f" (asked: {as_percent(tol)})"
    within = f"{what} is within {as_percent(certificate.relative_gap)} of the best possible{among}"
    if not isfinite(certificate.gap):
        return f"Nothing is proven: {certificate.note or 'one of the two objectives is not finite'}."
    if certificate.relative_gap < 0:
        return "Nothing is proven: the bound is on the wrong side of the objective."
    if certificate.condition:
        return f"Conditional, not proven: {certificate.condition}, {within}{asked}."
    if not certificate.proven:
        found = f"the bound that there is leaves a gap of {as_percent(certificate.relative_gap)}"
        return f"Not proven ({certificate.note or 'no bound over all hypotheses'}): {found}{asked}."
    if tol is None:
        sides = f"{certificate.primal:.4g}, and none is beyond {certificate.dual:.4g}"
        return f"Proven: {what} is {sides}{among}."
    if MEAN in certificate.note:
        mean = certificate.note[certificate.note.index(MEAN) :]
        return f"Proven: {what} of {mean} is within {as_percent(certificate.relative_gap)} of the best possible{among}."
    if not certificate.holds(tol):
        return f"Not within the tolerance asked, {as_percent(tol)}: proven is only that {within}."
    if certificate.relative_gap <= TO_ROUNDING:
        return f"Proven: {what} is the best possible{among}, to rounding{asked}."
    return f"Proven: {within}{asked}."


def list_certificates(found: Any) -> list[Certificate]:
    """Return the certificates of sub-problems, or the only one, as a list."""
    return list(found) if isinstance(found, list | tuple) else [found]


def describe_proofs(
    certificates: Sequence[Certificate], model: Any, over: str, tol: float | None = None
) -> list[tuple[str, str]]:
    """Return what each sub-problem of a fitted model tells apart, "" where there is one, and what is proven of it.

    `over` names the set of hypotheses, where a certificate is about one; `tol` is that of the model by default.
    """
    tol = model.get_params().get("tol") if tol is None else tol
    what = getattr(type(model), "certified", "the objective")
    names = name_problems(model) if len(certificates) > 1 else [""]
    return [(name, describe_proof(each, tol, what, over)) for name, each in zip(names, certificates, strict=True)]


def keeps_promise(certificate: Certificate, tol: float | None) -> bool:
    """Return True if what was asked is proven; without a tolerance, and of a mean of ensembles, that is any bound."""
    if tol is None or MEAN in certificate.note:
        return certificate.proven and 0 <= certificate.relative_gap < inf
    return certificate.holds(tol)


def name_hypotheses(model: Any) -> str:
    """Return what the weak learners of an ensemble are drawn from, in the plural.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> name_hypotheses(LPBoostClassifier())
    'thresholds of single features'
    """
    oracle = model.get_params(deep=False).get("oracle")
    return HYPOTHESES.get(oracle, "hypotheses of its oracle") if isinstance(oracle, str) else "hypotheses of its oracle"


def describe_kind(model: Any) -> str:
    """Say in a plain sentence what a fitted model does."""
    purpose = "It predicts a number" if is_regressor(model) else "It puts samples in order"
    if hasattr(model, "classes_"):
        purpose = f"It tells {len(model.classes_)} classes apart"
    parts = model._parts()
    if hasattr(parts[0], "weak_learners_"):
        return f"{purpose} by a score, which is a weighted sum of {name_hypotheses(model)}."
    if hasattr(parts[0], "support_"):
        return f"{purpose} by a score, which is a weighted sum of how alike a sample is to some samples of the fit."
    return f"{purpose} by a score."


def as_percent(share: float) -> str:
    """Return a share of two digits, in percent."""
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
