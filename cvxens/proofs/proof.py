"""Proofs of how far an ensemble is from the best of its formulation, exact, in a file that anybody can check.

A proof is made of floats that a run has found, in one of two ways. Where the formulation is a linear program whose
columns are -1 and +1, the vertex that the floats are near is solved over the rationals: with S the columns of positive
weight, F the samples with 0 < u_i < price and U those at their price,

    y_i sum_S w_j h_j(x_i) = 1   for i in F,           sum_F u_i y_i h_j(x_i) = 1 - sum_U C_i y_i h_j(x_i)   for j in S,

and the two objectives are equal. Every hypothesis is then priced with these u, in integers; one whose edge is too large
enters, and the vertex is found anew. Else, or where this fails, floats are rounded to a grid and repaired: multipliers
are clipped, balanced and scaled until they are feasible, exactly, and the gap is what it is, proven to the last digit.
Whichever way, objective and bound are then evaluated by the checker's own functions (`cvxens.proofs.checker`), which
know nothing of how the numbers were found.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Hypothesis, Stump, TabulatedColumn
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic, SoftMinimumMargin
from cvxens.problems.penalties import L1, Simplex, SquaredL2
from cvxens.proofs import checker
from cvxens.proofs.programs import write_lean, write_vipr
from cvxens.proofs.rational import independent_rows, simplest, solve_system, to_integers
from cvxens.types import Array

GRID = 60
"""Binary digits to which multipliers are rounded, below the largest price: what that costs is far below a double's."""

WEIGHT_GRID = 44
"""Binary digits of weights, below the largest: fewer than a double has, so that sums stay short."""

MOST_ROUNDS = 20
"""Rounds of exact column generation: a float run to 1e-9 has all columns but a few."""

LARGEST_PROGRAM = 500_000
"""Entries of the columns up to which a vertex is looked for: the simplex method takes seconds for so many."""

AT_BOUND = 1e-11
"""The distance from a bound, relative to the largest value, up to which the simplex method's numbers are at it."""

LOSSES = {
    Hinge: ("hinge", "C"),
    HardMargin: ("hard", None),
    SoftMinimumMargin: ("soft minimum", "D"),
    Exponential: ("exponential", "C"),
    Logistic: ("logistic", "C"),
}
PENALTIES = {L1: ("l1", "weight"), SquaredL2: ("squared l2", "weight"), Simplex: ("simplex", None)}

LINEAR = {"hinge", "hard", "soft minimum"}

Term = tuple[int | None, float | None, float]
"""A feature and a threshold with the weight of that stump; None for both stands for the constant +1."""


@dataclass(frozen=True)
class Layout:
    """Where the numbers of a proof stand in its data file, as the checker reads them.

    Parameters
    ----------
    features : list of str or int
        The columns, by the names of the header, or by number from 0; from 1 in LIBSVM files.
    target : str or int
        The column of labels.
    labels : tuple of str
        How the labels -1 and +1 are written.
    kind : {"csv", "libsvm"}
    separator : str
    header : bool
        True if the first line names the columns.

    Examples
    --------
    >>> Layout.of_width(2)
    Layout(features=['x0', 'x1'], target='target', labels=('-1', '1'), kind='csv', separator=',', header=True)
    """

    features: Sequence[Any]
    target: Any = "target"
    labels: tuple[str, str] = ("-1", "1")
    kind: str = "csv"
    separator: str = ","
    header: bool = True

    @classmethod
    def of_width(cls, n_features: int) -> Layout:
        """Return the layout of a table with the columns x0, x1, ... and target."""
        return cls([f"x{j}" for j in range(n_features)])

    def write(self, path: str | Path, X: Array, y: Array) -> None:
        """Write features and labels as such a file; numbers as the shortest text that reads back as the same double."""
        negative, positive = self.labels
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, delimiter=self.separator)
            table.writerow([*self.features, self.target])
            for row, sign in zip(X.tolist(), y.tolist(), strict=True):
                table.writerow([*map(repr, row), positive if sign > 0 else negative])


@dataclass(frozen=True, eq=False)
class Proof:
    """A model, multipliers, and what they prove, as rational numbers.

    Parameters
    ----------
    document : dict
        What `save` writes: the format is explained in the docs, and `cvxens.proofs.checker` reads it.
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The labels, -1 and +1.
    """

    document: dict[str, Any]
    X: Array = field(repr=False)
    y: Array = field(repr=False)

    @property
    def claim(self) -> str:
        """The claim in one sentence."""
        return str(self.document["claim"])

    @property
    def objective(self) -> Fraction:
        """The objective of the model, or a number just above it; raises where it is proven that there is no model."""
        return self._read("objective")

    @property
    def bound(self) -> Fraction:
        """The number that no weighted vote over the hypotheses is below; raises where there is no model."""
        return self._read("bound")

    def _read(self, name: str) -> Fraction:
        """Return one of the two values."""
        if self.document["values"][name] is None:
            found = "found one that no vote has margins above 0, so that there are no values"
            raise InvalidInput("proof", found, "read its claim")
        return Fraction(self.document["values"][name])

    @property
    def gap(self) -> Fraction:
        """The objective less the bound; 0 where the model is proven to be the best, exactly."""
        return self.objective - self.bound

    @property
    def relative_gap(self) -> float:
        """The gap relative to the larger of the two in size."""
        size = max(abs(self.objective), abs(self.bound))
        return float(self.gap / size) if size else 0.0

    def save(self, path: str | Path, data: str | Path | None = None) -> None:
        """Write the proof as JSON to `path`, and the features and labels that it is about as CSV to `data`."""
        if data is not None:
            of = self.document["data"]
            Layout(of["features"], of["target"], tuple(of["labels"]), separator=of["separator"]).write(
                data, self.X, self.y
            )
        Path(path).write_text(json.dumps(self.document, indent=1) + "\n", encoding="utf-8")

    def to_vipr(self, path: str | Path, *, restricted: bool = False) -> None:
        """Write the linear program of the proof, its model and the derivation of its bound as a VIPR certificate.

        Parameters
        ----------
        path : str or Path
            The file, in the format 1.0 of Cheung, Gleixner & Steffy (2017), for ``viprchk`` and others.
        restricted : bool
            True to write the hypotheses alone that vote. The bound is then derived over these alone.

        Raises
        ------
        InvalidInput
            The formulation is no linear program, or it has more than 2,000,000 entries.
        """
        write_vipr(self, path, restricted)

    def to_lean(self, path: str | Path, *, restricted: bool = False) -> tuple[Path, Path]:
        """Write the linear program as a request, and its optimum as the response, of a solver of Lean's `lp` tactic.

        Parameters
        ----------
        path : str or Path
            Of the two files without their endings, ``.request.json`` and ``.response.json``, in version 1 of the JSON
            that lp-backend-soplex-json documents. Lean's checker takes numbers of up to 10,000 binary digits.
        restricted : bool
            As for `to_vipr`.

        Returns
        -------
        tuple of Path
            The request and the response.

        Raises
        ------
        InvalidInput
            As for `to_vipr`; or the gap is not 0, as the format has optima alone.
        """
        return write_lean(self, path, restricted)

    def __str__(self) -> str:
        return self.claim


def prove(
    formulation: Formulation,
    X: Any,
    y: Any,
    hypotheses: Sequence[Hypothesis],
    weights: Any,
    intercept: float = 0.0,
    *,
    u: Any,
    over: str = "stumps and constant",
    as_given: bool = False,
    layout: Layout | None = None,
) -> Proof:
    """Prove how far an ensemble is from the best over all hypotheses of a set, in rational numbers.

    Parameters
    ----------
    formulation : Formulation
        One of the losses Hinge, HardMargin, SoftMinimumMargin, Exponential and Logistic, with the penalty L1, SquaredL2
        or Simplex. Its prices count as the simplest rationals that round to them: 0.05 is 1/20.
    X : array-like of shape (n_samples, n_features)
        The features, finite; for a pool the values of its hypotheses.
    y : array-like of shape (n_samples,)
        Labels, -1 and +1.
    hypotheses : sequence of Stump, Constant or TabulatedColumn
        What votes.
    weights : array-like of shape (n_hypotheses,)
        Their weights.
    intercept : float
        b.
    u : array-like of shape (n_samples,) or Proof
        Multipliers near the optimum, such as those of the run that found the weights; or the proof of the optimum on
        the same sample, whose multipliers are taken as they are, for weights as they are.
    over : {"stumps and constant", "stumps", "pool", "one-sided pool"}
        The set that the proof is over: every stump that splits the samples, with or without h(x) = 1; or the columns of
        X, with their negations or without.
    as_given : bool
        False if the optimum itself is to be found over the rationals where that is possible: the model of the proof is
        then the vertex that the weights are near. True for a proof of the weights as they are, rounded to 44 digits.
    layout : Layout, optional
        Where the numbers stand in the data file; by default as `Proof.save` writes it.

    Returns
    -------
    Proof
        Checked once by the checker's own functions.

    Raises
    ------
    InvalidInput
        Another loss or penalty, or a hypothesis that is not of the set.

    Examples
    --------
    >>> from cvxens.colgen import column_generation, formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    >>> run = column_generation(formulations.soft_margin(C=0.4), oracles.Stumps(X), y)
    >>> proof = prove(formulations.soft_margin(C=0.4), X, y, [c.hypothesis for c in run.columns], run.weights, u=run.u)
    >>> proof.objective, proof.gap
    (Fraction(6, 5), Fraction(0, 1))
    """
    X = np.ascontiguousarray(X, dtype=np.float64) + 0.0
    signs = np.asarray(y, dtype=np.float64)
    form = Form.from_formulation(formulation, len(signs), over)
    terms = [
        (feature, threshold, sign * weight)
        for (feature, threshold, sign), weight in zip(
            (_read_hypothesis(h, over) for h in hypotheses), np.asarray(weights, dtype=float).tolist(), strict=True
        )
        if weight
    ]
    found = None
    if len(terms) * len(X) > LARGEST_PROGRAM or isinstance(u, Proof):
        as_given = True
    if not as_given and form.loss in LINEAR and form.penalty != "squared l2" and over not in checker.POOLS:
        found = _find_vertex(form, X, signs, terms)
    if found is None:
        if isinstance(u, Proof):
            of_proof = u.document["multipliers"]
            multipliers = [int(v) for v in of_proof["numerators"]], int(of_proof["denominator"])
        else:
            multipliers = _round_multipliers(form, X, signs, np.asarray(u, dtype=float))
        found = Point(*_round_weights(form, X, signs, terms, float(intercept)), *multipliers)
    return write_proof(form, X, signs, found, layout or Layout.of_width(X.shape[1]))


def _read_hypothesis(hypothesis: Any, over: str) -> tuple[int | None, float | None, float]:
    """Return feature, threshold and sign of a hypothesis of the set."""
    if over in checker.POOLS and isinstance(hypothesis, TabulatedColumn):
        return hypothesis.index, None, float(hypothesis.sign)
    if over not in checker.POOLS and isinstance(hypothesis, Stump):
        return hypothesis.feature, hypothesis.threshold, float(hypothesis.sign)
    if over == "stumps and constant" and isinstance(hypothesis, Constant):
        return None, None, float(hypothesis.sign)
    remedy = "give stumps and constants, or TabulatedColumns of a pool: others cannot be proven exactly"
    raise InvalidInput("hypotheses", f"found {hypothesis} for the set {over!r}", remedy)


@dataclass(frozen=True)
class Form:
    """A formulation in the checker's words, with rational prices, one for each sample."""

    loss: str
    prices: list[Fraction]
    penalty: str
    weight: Fraction
    intercept: bool
    hypotheses: str

    @classmethod
    def from_formulation(cls, formulation: Formulation, n_samples: int, over: str) -> Form:
        """Read a formulation; InvalidInput for terms that no exact proof is known for."""
        if over not in checker.HYPOTHESES:
            raise InvalidInput("over", f"found {over!r}", f"name one of {', '.join(sorted(checker.HYPOTHESES))}")
        loss, penalty = formulation.terms
        for name, term, known in (("loss", loss, LOSSES), ("penalty", penalty, PENALTIES)):
            if type(term) not in known:
                remedy = f"give one of {', '.join(kind.__name__ for kind in known)}: others cannot be proven exactly"
                raise InvalidInput("formulation", f"found the {name} {type(term).__name__}", remedy)
        (loss_name, price), (penalty_name, weight) = LOSSES[type(loss)], PENALTIES[type(penalty)]
        given = np.ravel(getattr(loss, price) if price else 1.0).tolist()
        prices = [simplest(value) for value in given]
        return cls(
            loss_name,
            prices * n_samples if len(prices) == 1 else prices,
            penalty_name,
            simplest(getattr(penalty, weight)) if weight else Fraction(1),
            formulation.intercept,
            over,
        )

    def to_document(self) -> dict[str, Any]:
        """Return the formulation as a proof file has it."""
        prices = self.prices[:1] if len(set(self.prices)) == 1 else self.prices
        return {
            "loss": self.loss,
            "prices": [str(price) for price in prices],
            "penalty": self.penalty,
            "weight": str(self.weight),
            "intercept": self.intercept,
            "hypotheses": self.hypotheses,
        }


@dataclass(frozen=True)
class Point:
    """Rational weights of terms, intercept, and multipliers as integers over one denominator.

    The terms are None where the multipliers prove that no weights are feasible.
    """

    terms: list[tuple[int | None, float | None, Fraction]] | None
    intercept: Fraction
    numerators: list[int]
    denominator: int

    def to_model(self) -> dict[str, Any] | None:
        """Return the model as a proof file has it."""
        if self.terms is None:
            return None
        terms = [
            {"feature": feature, "threshold": None if threshold is None else repr(threshold), "weight": str(weight)}
            for feature, threshold, weight in self.terms
        ]
        return {"terms": terms, "intercept": str(self.intercept)}


def write_proof(form: Form, X: Array, y: Array, point: Point, layout: Layout) -> Proof:
    """Write a proof down, with the values that the checker finds: none of a point without a model."""
    rows, signs = X.tolist(), y.astype(int).tolist()
    document: dict[str, Any] = {
        "cvxens proof": 1,
        "claim": "",
        "not established": list(checker.NOT_ESTABLISHED),
        "data": {
            "kind": layout.kind,
            "separator": layout.separator,
            "header": layout.header,
            "target": layout.target,
            "features": list(layout.features),
            "labels": list(layout.labels),
            "samples": len(rows),
            "X sha256": checker.digest(",".join(map(float.hex, row)) for row in rows),
            "y sha256": checker.digest(signs),
        },
        "formulation": form.to_document(),
        "model": point.to_model(),
        "multipliers": {
            "denominator": str(point.denominator),
            "numerators": [str(numerator) for numerator in point.numerators],
        },
    }
    try:
        objective, bound = checker.evaluate(document, rows, signs)
    except checker.Refused as failure:
        raise InvalidInput("ensemble", f"found what cannot be proven: {failure}", "give a feasible one") from failure
    values = {"objective": objective, "bound": bound}
    document["values"] = {name: value if value is None else str(value) for name, value in values.items()}
    document["claim"] = checker.state_claim(document, objective, bound)
    document["sha256"] = checker.digest([json.dumps(document, sort_keys=True)])
    return Proof(document, X, y)


# Rounded points -------------------------------------------------------------------------------------------------------


def _round_weights(
    form: Form, X: Array, y: Array, terms: Sequence[Term], intercept: float
) -> tuple[list[tuple[int | None, float | None, Fraction]], Fraction]:
    """Round weights and intercept to a grid, and scale them, exactly, to a feasible point."""
    largest = max((abs(weight) for *_, weight in terms), default=1.0)
    grid = Fraction(2) ** (int(np.frexp(largest)[1]) - WEIGHT_GRID)
    rounded = [(j, t, grid * round(Fraction(weight) / grid)) for j, t, weight in terms]
    b = grid * round(Fraction(intercept) / grid) if form.intercept else Fraction(0)
    scale = Fraction(1)
    if form.penalty == "simplex":
        scale = 1 / sum((abs(weight) for *_, weight in rounded), Fraction(0))
    elif form.loss == "hard":
        model = Point(rounded, b, [], 1).to_model()
        scores, d, _ = checker.evaluate_scores(X.tolist(), model, form.hypotheses)
        least = min(Fraction(f * int(sign), d) for f, sign in zip(scores, y.tolist(), strict=True))
        if least <= 0:
            raise InvalidInput("weights", f"found a margin of {float(least):.3g}", "give weights with margins above 0")
        # above 1 the scale takes off what a margin of 1 does not need
        scale = 1 / least
    return [(j, t, weight * scale) for j, t, weight in rounded if weight], b * scale


def _round_multipliers(form: Form, X: Array, y: Array, u: Array) -> tuple[list[int], int]:
    """Round multipliers to integers over one denominator; clip, balance, add up and scale them to feasibility."""
    caps, of_prices = to_integers(form.prices)
    largest = float(max(u.max(initial=0.0), 1e-300))
    shift = GRID - int(np.frexp(largest)[1])
    q = of_prices * 2 ** max(shift, 0)
    caps = [cap * 2 ** max(shift, 0) for cap in caps]
    values = [max(round(Fraction(value) * q), 0) for value in u.tolist()]
    if form.loss in {"hinge", "logistic", "soft minimum"}:
        values = [min(value, cap) for value, cap in zip(values, caps, strict=True)]
    if form.loss == "soft minimum":
        _move_sum(values, caps, q)
    if form.intercept:
        _balance(values, y)
    if form.penalty == "l1":
        s = [value * int(sign) for value, sign in zip(values, y.tolist(), strict=True)]
        edge = Fraction(checker.evaluate_edges(X.tolist(), s, form.hypotheses)[0])
        if edge > form.weight * q:
            # u scaled by weight q / edge: v / q becomes v weight / edge
            factor = form.weight / edge
            values, q = [value * factor.numerator for value in values], factor.denominator
    return values, q


def _move_sum(values: list[int], caps: Sequence[int], total: int) -> None:
    """Change values within [0, cap], those with most room first, until they add up to `total`."""
    missing = total - sum(values)
    room = [cap - value if missing > 0 else value for value, cap in zip(values, caps, strict=True)]
    for i in sorted(range(len(values)), key=lambda i: -room[i]):
        step = min(abs(missing), room[i])
        values[i] += step if missing > 0 else -step
        missing -= step if missing > 0 else -step


def _balance(values: list[int], y: Array) -> None:
    """Take from the heavier class, from its largest values first, until ``y'u = 0``."""
    excess = sum(value * int(sign) for value, sign in zip(values, y.tolist(), strict=True))
    heavy = [i for i in range(len(values)) if y[i] * excess > 0]
    for i in sorted(heavy, key=lambda i: -values[i]):
        step = min(values[i], abs(excess))
        values[i] -= step
        excess -= step if excess > 0 else -step


# Vertices of linear programs ------------------------------------------------------------------------------------------


def _find_vertex(form: Form, X: Array, y: Array, terms: Sequence[Term]) -> Point | None:
    """Find the optimum over all hypotheses over the rationals; None where that fails."""
    columns = {(feature, threshold): 1.0 if weight > 0 else -1.0 for feature, threshold, weight in terms}
    if not columns:
        # of an ensemble without weights: the best stumps under equal multipliers to begin with
        columns = {key: sign for key, (_, sign) in _price_exactly(form, X, y.astype(int).tolist()).items()}
    for _ in range(MOST_ROUNDS):
        if (vertex := _solve_vertex(form, X, y, columns)) is None:
            return None
        weights, intercept, u, limit = vertex
        numerators, denominator = to_integers(u)
        entering = _price_exactly(form, X, [v * int(sign) for v, sign in zip(numerators, y.tolist(), strict=True)])
        too_large = {key: sign for key, (edge, sign) in entering.items() if edge > limit * denominator}
        if not too_large:
            found = [(*key, int(columns[key]) * weight) for key, weight in zip(columns, weights, strict=True) if weight]
            return Point(found, intercept, numerators, denominator)
        if all(columns.get(key) == sign for key, sign in too_large.items()):
            return None
        columns |= too_large
    return None


def _evaluate_columns(X: Array, y: Array, columns: dict[tuple[int | None, float | None], float]) -> Array:
    """Evaluate ``y_i sign h(x_i)`` for every column, shape (n_samples, n_columns)."""
    parts = [
        sign
        * (np.ones(len(X)) if feature is None or threshold is None else np.where(X[:, feature] >= threshold, 1.0, -1.0))
        for (feature, threshold), sign in columns.items()
    ]
    return y[:, np.newaxis] * np.column_stack(parts)


def _solve_vertex(
    form: Form, X: Array, y: Array, columns: dict[tuple[int | None, float | None], float]
) -> tuple[list[Fraction], Fraction, list[Fraction], Fraction] | None:
    """Solve the linear program over some columns: weights, intercept, multipliers, and what edges may be at most.

    The unknowns are the weights, then rho of the soft minimum, then b. The simplex method finds the vertex in floats.
    """
    G, n, k = _evaluate_columns(X, y, columns), len(y), len(columns)
    soft, simplex = form.loss != "hard", form.penalty == "simplex"
    extra = [-np.ones((n, 1))] * simplex + [y[:, np.newaxis]] * form.intercept
    rows = np.hstack([G, *extra])
    rhs = [Fraction(0 if simplex else 1)] * n
    cost = [Fraction(0) if simplex else form.weight] * k + [Fraction(-1)] * simplex + [Fraction(0)] * form.intercept
    n_free = len(cost) - k
    prices = np.array([float(price) for price in form.prices])
    program = linprog(
        [*map(float, cost), *(prices if soft else [])],
        A_ub=-np.hstack([rows, np.eye(n)] if soft else [rows]),
        b_ub=-np.array([float(value) for value in rhs]),
        A_eq=np.hstack([np.ones((1, k)), np.zeros((1, n_free + n * soft))]) if simplex else None,
        b_eq=[1.0] if simplex else None,
        bounds=[(0, None)] * k + [(None, None)] * n_free + [(0, None)] * (n * soft),
        method="highs-ds",
        # the postsolve may leave a point inside a face
        options={"presolve": False},
    )
    if program.status != 0:
        return None
    x, u = program.x[: len(cost)], -program.ineqlin.marginals
    caps = prices if soft else np.full(n, np.inf)
    tiny = AT_BOUND * max(float(u.max()), 1e-300)
    support = [*np.flatnonzero(x[:k] > AT_BOUND * max(float(x[:k].max()), 1e-300)).tolist(), *range(k, len(cost))]
    free, at_cap = np.flatnonzero((u > tiny) & (u < caps - tiny)), np.flatnonzero(u >= caps - tiny)
    slack = np.abs(rows @ x - np.array([float(value) for value in rhs]))
    tight = np.flatnonzero(slack < 1e-9 * max(1.0, float(np.abs(x).max())))
    order = np.concatenate([free, np.setdiff1d(tight, free)])
    # primal: the rows of `order`, and the sum of the weights of a simplex
    summing = np.array([[1.0 if j < k else 0.0 for j in support]])
    equations = np.vstack([rows[np.ix_(order, support)], *([summing] * simplex)])
    values = [*(rhs[i] for i in order.tolist()), *([Fraction(1)] * simplex)]
    chosen = independent_rows(np.vstack([equations[len(order) :], equations[: len(order)]]), simplex + len(free))
    chosen = np.where(chosen < simplex, chosen + len(order), chosen - simplex)
    if len(chosen) != len(support):
        return None
    on_support = solve_system(equations[chosen].astype(np.int64), [values[i] for i in chosen.tolist()])
    # dual: for every unknown the multipliers add up to its cost, less beta, the multiplier of a simplex's sum; first
    # for those of the support, then for others whose edge is as large, as a degenerate vertex has them in its basis
    beta = float(program.eqlin.marginals[0]) if simplex else 0.0
    reduced = np.array([float(value) for value in cost]) - rows.T @ u - beta * (np.arange(len(cost)) < k)
    level = np.flatnonzero(np.abs(reduced) < 1e-9 * max(1.0, float(np.abs(u).sum())))
    level = np.concatenate([support, np.setdiff1d(level, support)]).astype(np.intp)
    due = [
        cost[j] - sum((form.prices[i] * int(rows[i, j]) for i in at_cap.tolist()), Fraction(0)) for j in level.tolist()
    ]
    sums = -(level < k).astype(float)[:, np.newaxis]
    balances = np.hstack([rows[np.ix_(free, level)].T, *([sums] * simplex)])
    chosen = independent_rows(balances, len(support))
    if on_support is None or len(chosen) != balances.shape[1]:
        return None
    on_free = solve_system(balances[chosen].astype(np.int64), [due[j] for j in chosen.tolist()])
    if on_free is None:
        return None
    found, multipliers = [Fraction(0)] * len(cost), [Fraction(0)] * n
    for j, value in zip(support, on_support, strict=True):
        found[j] = value
    for i in at_cap.tolist():
        multipliers[i] = form.prices[i]
    for i, value in zip(free.tolist(), on_free, strict=False):
        multipliers[i] = value
    limit = on_free[-1] if simplex else form.weight
    feasible = all(v >= 0 for v in found[:k]) and all(
        v >= 0 and (not soft or v <= c) for v, c in zip(multipliers, form.prices, strict=True)
    )
    return (found[:k], found[-1] if form.intercept else Fraction(0), multipliers, limit) if feasible else None


def _price_exactly(form: Form, X: Array, s: list[int]) -> dict[tuple[int | None, float | None], tuple[int, float]]:
    """Return the best stump of every feature, and the constant, with edge and sign, in integers."""
    total = sum(s)
    found: dict[tuple[int | None, float | None], tuple[int, float]] = {}
    if form.hypotheses == "stumps and constant":
        found[None, None] = (abs(total), 1.0 if total >= 0 else -1.0)
    for feature, column in enumerate(X.T.tolist()):
        order = sorted(range(len(s)), key=column.__getitem__)
        below, best = 0, (-1, 0, 0.0)
        for i, j in pairwise(order):
            below += s[i]
            if column[i] < column[j] and abs(total - 2 * below) > best[0]:
                best = abs(total - 2 * below), total - 2 * below, column[j]
        if best[0] >= 0:
            # the threshold is the value above the cut: a sample on it counts as above
            found[feature, best[2]] = (best[0], 1.0 if best[1] >= 0 else -1.0)
    return found
