"""Proofs of how far an ensemble is from the best of its formulation, exact, in a file that anybody can check.

A proof is made of floats that a run has found, in one of two ways. Where the formulation is a linear program, the
vertex that the floats are near is solved over the rationals (`vertices`), and objective and bound are equal. Else, or
where this fails, floats are rounded to a grid and repaired: multipliers are clipped, balanced and scaled until they are
feasible, exactly, and the gap is what it is, proven to the last digit.
Whichever way, objective and bound are then evaluated by the checker's own functions (`cvxens.proofs.checker`), which
know nothing of how the numbers were found.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

from cvxens.certificates import PROVERS
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Hypothesis, LevelStump, Stump, TabulatedColumn
from cvxens.limits import check_time, time_left
from cvxens.problems import Columns, DenseColumns, Evaluated, Problem
from cvxens.problems.formulation import Formulation
from cvxens.problems.maps import ColumnMap
from cvxens.proofs import checker
from cvxens.proofs.forms import LINEAR, Form, Point, Reading, Term, simplest, to_integers
from cvxens.proofs.programs import Document, LinearProgram
from cvxens.proofs.vertices import LARGEST, find_vertex, independent_rows, solve_rationals
from cvxens.types import Array, Indices

ExactTerm: TypeAlias = tuple[int | None, float | None, Fraction]
"""A feature and a threshold with the weight of that stump, as a rational number."""

KERNELS = {"stump": False, "perceptron": False, "laplacian": True, "gaussian": True}
"""The kernels that the checker knows, and which of them have a gamma."""


@dataclass(frozen=True)
class Layout:
    """Where the numbers of a proof stand in its data file, as the checker reads them.

    Parameters
    ----------
    features : list of str or int
        The column of the file that each column of the sample is made of, by the names of the header, or by number from
        0; from 1 in LIBSVM files.
    target : str or int
        The column of labels.
    labels : tuple of str
        How the labels -1 and +1 are written.
    kind : {"csv", "libsvm"}
    separator : str
    header : bool
        True if the first line names the columns.
    path : str or Path, optional
        The file. It is read by the proof to state what texts in it stand for, such as levels and missing values, and
        which of its columns are not used. Without it all cells are the numbers themselves, and all columns are used.

    Examples
    --------
    >>> Layout.of_width(2).features
    ['x0', 'x1']
    """

    features: Sequence[int | str]
    target: int | str = "target"
    labels: tuple[str, str] = ("-1", "1")
    kind: str = "csv"
    separator: str = ","
    header: bool = True
    path: str | Path | None = None

    @classmethod
    def of_width(cls, n_features: int, labels: tuple[str, str] = ("-1", "1")) -> Layout:
        """Return the layout of a table with the columns x0, x1, ... and target."""
        return cls([f"x{j}" for j in range(n_features)], labels=labels)

    def describe(self, X: Array, y: Array, readings: Sequence[Reading] | None) -> dict[str, object]:
        """Say where the features X and the labels of a proof are, as its file has it.

        `InvalidInput` where the file has other ones, or a text that stands for several numbers in one feature.
        """
        features, unused = list(self.features), []
        if self.path is not None:
            try:
                columns = checker.read_columns(self.path, self.kind, self.separator, self.header)
                of = [self.features[reading.column] for reading in readings] if readings is not None else features
                features = [_code(name, columns[name], x) for name, x in zip(of, X.T.tolist(), strict=True)]
                unused = [name for name in columns if name not in {self.target, *self.features}]
                signs = {checker.parse(text): sign for text, sign in zip(self.labels, (-1, 1), strict=True)}
                if [signs.get(checker.parse(text)) for text in columns[self.target]] != y.tolist():
                    raise ValueError(f"classes that are written in several ways in the column {self.target!r}")
            except (checker.Refused, ValueError, LookupError, OSError, csv.Error) as failure:
                why = f"no column {failure}" if isinstance(failure, LookupError) else failure
                found = f"found what the checker does not read as the model does ({why})"
                remedy = "give plain CSV or LIBSVM, or have numbers written: --plain FILE, Proof.save(PROOF, FILE)"
                raise InvalidInput("data", found, remedy) from None
        elif len(features) != X.shape[1]:
            found = f"found {len(features)} columns for {X.shape[1]} features, among them those of gaps and levels"
            raise InvalidInput("layout", found, "give the path of the file, too")
        return {
            "kind": self.kind,
            "separator": self.separator,
            "header": self.header,
            "target": self.target,
            "features": features,
            "labels": list(self.labels),
            "unused": unused,
        }

    def write(self, path: str | Path, X: Array, y: Array) -> None:
        """Write features and labels as such a file; numbers as the shortest text that reads back as the same double."""
        negative, positive = self.labels
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, delimiter=self.separator)
            table.writerow([*self.features, self.target])
            for row, sign in zip(X.tolist(), y.tolist(), strict=True):
                table.writerow([*map(repr, row), positive if sign > 0 else negative])


def _code(column: object, texts: Sequence[str], values: Sequence[float]) -> Any:
    """Return a feature of a proof: a column, with the numbers that texts stand for where these are not themselves."""
    codes = dict(zip(texts, values, strict=True))
    if any(codes[text] != value for text, value in zip(texts, values, strict=True)):
        raise ValueError(f"a text that stands for several numbers in the column {column!r}")
    if all(checker.parse(text) == value for text, value in codes.items()):
        return column
    # an indicator is 1 for few texts
    others = 0.0 if set(codes.values()) <= {0.0, 1.0} else None
    odd = {text: value for text, value in codes.items() if value != (checker.parse(text) if others is None else others)}
    written = {text: f"{value:g}" if float(f"{value:g}") == value else repr(value) for text, value in odd.items()}
    return {"column": column, "codes": written, "others": None if others is None else "0"}


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

    document: Document
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
        if (value := self.document["values"][name]) is None:
            found = "found one that no vote has margins above 0, so that there are no values"
            raise InvalidInput("proof", found, "read its claim")
        return Fraction(value)

    @property
    def gap(self) -> Fraction:
        """The objective less the bound; 0 where the model is proven to be the best, exactly."""
        return self.objective - self.bound

    @property
    def relative_gap(self) -> float:
        """The gap relative to the larger of the two in size."""
        size = max(abs(self.objective), abs(self.bound))
        return float(self.gap / size) if size else 0.0

    @property
    def multipliers(self) -> tuple[list[int], int]:
        """U as integers over one denominator, and that."""
        denominator, *numerators = map(int, self.document["multipliers"])
        return numerators, denominator

    def save(self, path: str | Path, data: str | Path | None = None) -> None:
        """Write the proof as JSON to `path`, and the features and labels that it is about as CSV to `data`.

        `InvalidInput` for data of a proof about a file with a coding, or with columns of its own: that is its data.
        """
        if data is not None:
            of = self.document["data"]
            plain = of["kind"] == "csv" and of["header"] and not of["unused"]
            if not plain or any(isinstance(feature, dict) for feature in of["features"]):
                raise InvalidInput("data", "found a proof about a file of its own", "leave it out, and give that file")
            layout = Layout(of["features"], of["target"], tuple(of["labels"]), separator=of["separator"])
            layout.write(data, self.X, self.y)
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
        Path(path).write_text(self._state_program(restricted).to_vipr(), encoding="utf-8")

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
        documents = self._state_program(restricted).to_lean()
        paths = Path(f"{path}.request.json"), Path(f"{path}.response.json")
        for place, document in zip(paths, documents, strict=True):
            place.write_text(json.dumps(document) + "\n", encoding="utf-8")
        return paths

    def _state_program(self, restricted: bool) -> LinearProgram:
        return LinearProgram.from_document(self.document, self.X, self.y, restricted)

    def __str__(self) -> str:
        return self.claim


def prove(
    formulation: Formulation,
    X: ArrayLike,
    y: ArrayLike,
    hypotheses: Sequence[Hypothesis],
    weights: ArrayLike,
    intercept: float = 0.0,
    *,
    u: ArrayLike | Proof,
    over: str = "stumps and constant",
    as_given: bool = False,
    layout: Layout | None = None,
    readings: Sequence[Reading] | None = None,
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
    hypotheses : sequence of Stump, LevelStump, Constant or TabulatedColumn
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
        then the vertex that the weights are near. True for a proof of the weights as they are, rounded to 44 digits,
        and of the multipliers as they are, if they are feasible.
    layout : Layout, optional
        Where the numbers stand in the data file; by default as `Proof.save` writes it.
    readings : sequence of Reading, optional
        What the columns of X are made of, as the statement of an oracle has it: of a sample with gaps and levels, whose
        columns the hypotheses are about. By default X is the sample.

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
    X, signs = np.ascontiguousarray(X, dtype=np.float64) + 0.0, np.asarray(y, dtype=np.float64)
    form = Form.from_formulation(formulation, len(signs), over)
    made_of = [Reading(j) for j in range(X.shape[1])] if readings is None else readings
    read = [_read_hypothesis(hypothesis, over, made_of) for hypothesis in hypotheses]
    given = zip(read, np.asarray(weights, dtype=float).tolist(), strict=True)
    terms = [(feature, threshold, sign * weight) for (feature, threshold, sign), weight in given if weight]
    found, exact = None, as_given
    # of more entries the simplex method takes minutes
    if len(terms) * len(X) > 500_000 or isinstance(u, Proof):
        as_given = True
    if not as_given and (form.loss, form.penalty) in LINEAR:
        merged = ((feature, threshold, float(weight)) for feature, threshold, weight in _merge_stumps(X, terms))
        found = find_vertex(form, X, signs, [term for term in merged if term[2]])
    if found is None:
        if isinstance(u, Proof):
            multipliers = u.multipliers
        else:
            multipliers = round_multipliers(form, X, signs, np.asarray(u, dtype=float), exact=exact)
        found = Point(*_round_weights(form, X, signs, terms, float(intercept)), *multipliers)
    return write_proof(form, X, signs, found, layout or Layout.of_width(X.shape[1]), readings)


def prove_kernel(
    formulation: Formulation,
    X: ArrayLike,
    y: ArrayLike,
    kernel: str,
    u: ArrayLike,
    intercept: float = 0.0,
    *,
    gamma: float | None = None,
    scales: Sequence[float] = (),
    layout: Layout | None = None,
) -> Proof:
    """Prove in rational numbers how far the function of given multipliers is from the best in the space of a kernel.

    The bound from u, made feasible over the rationals with y'u = 0, is ``g(u) - u'(K o yy')u / (2 weight)``, and the
    model is the function ``sum_i u_i y_i k(x_i, x) / weight + b``, whose penalty is the same form. Of stumps K is a
    matrix of rational numbers; roots and exponentials are known to forty digits, and count at their worst. As y'u = 0,
    constants in the kernel do not matter.

    Parameters
    ----------
    formulation : Formulation
        A loss as for `prove`, SquaredL2 and an intercept, such as ``formulations.svm(C)``.
    X : array-like of shape (n_samples, n_features)
        The features, finite. But for stumps the checker goes through all pairs: 1,000 samples take it half a minute.
    y : array-like of shape (n_samples,)
        Labels, -1 and +1.
    kernel : {"stump", "perceptron", "laplacian", "gaussian"}
        That of all stumps, ``-|x - x'|_1``; of all perceptrons, ``-|x - x'|_2``; ``exp(-gamma |x - x'|_1)``;
        ``exp(-gamma |x - x'|_2^2)``; whatever constant it has.
    u : array-like of shape (n_samples,)
        Multipliers: the doubles that they are, clipped to what is feasible, and balanced.
    intercept : float
        b, which goes with the kernel without its constant.
    gamma : float, optional
        Above 0, of the last two. It counts as the simplest rational that rounds to it.
    scales : sequence of float, optional
        At least 0, of the first: ``-sum_d scales_d |x_d - x'_d|``, with the doubles that they are; by default all 1.
    layout : Layout, optional
        As for `prove`.

    Returns
    -------
    Proof
        As of `prove`.

    Raises
    ------
    InvalidInput
        Another loss, penalty or kernel, a formulation without an intercept, or a gamma or scales too many or missing.

    Examples
    --------
    >>> from cvxens.colgen import formulations
    >>> X, y = [[0.0], [1.0], [3.0]], [-1.0, 1.0, 1.0]
    >>> proof = prove_kernel(formulations.svm(C=2.0), X, y, "stump", [1.0, 1.0, 0.0])
    >>> proof.objective, proof.bound
    (Fraction(1, 1), Fraction(1, 1))
    """
    X, signs = np.ascontiguousarray(X, dtype=np.float64) + 0.0, np.asarray(y, dtype=np.float64)
    if kernel not in KERNELS:
        raise InvalidInput("kernel", f"found {kernel!r:.100}", f"give one of {', '.join(map(repr, KERNELS))}")
    if (gamma is not None) != KERNELS[kernel]:
        raise InvalidInput("gamma", f"found {gamma!r} for the {kernel} kernel", "give one to those that have it")
    if len(scales) not in (0, X.shape[1] * (kernel == "stump")) or not all(0 <= scale < inf for scale in scales):
        raise InvalidInput("scales", f"found {scales!r:.100} for a {kernel} kernel", "give each feature of stumps one")
    form = Form.from_formulation(formulation, len(signs), f"functions of the {kernel} kernel")
    form = replace(form, gamma=simplest(gamma) if gamma else Fraction(0), scales=scales)
    multipliers = round_multipliers(form, X, signs, np.asarray(u, dtype=float), exact=True)
    point = Point(None, Fraction(float(intercept)), *multipliers)
    return write_proof(form, X, signs, point, layout or Layout.of_width(X.shape[1]))


def _merge_stumps(X: Array, terms: Sequence[tuple[int | None, float | None, Any]]) -> list[ExactTerm]:
    """Return one term for every hypothesis: a threshold is the value above it, and those of one gap add up."""
    tables = [np.unique(column) for column in X.T]
    merged: dict[tuple[int | None, float | None], Fraction] = {}
    for feature, threshold, weight in terms:
        at = threshold
        if feature is not None and threshold is not None:
            place = int(np.searchsorted(tables[feature], threshold))
            at = float(tables[feature][place]) if place < len(tables[feature]) else threshold
        merged[feature, at] = merged.get((feature, at), Fraction(0)) + Fraction(weight)
    return [(*key, weight) for key, weight in merged.items()]


def _read_hypothesis(found: object, over: str, readings: Sequence[Reading]) -> tuple[int | None, float | None, float]:
    """Return feature, threshold and sign of a hypothesis of the set."""
    if "pool" in over and isinstance(found, TabulatedColumn):
        return found.index, None, float(found.sign)
    if "stumps" in over and isinstance(found, Stump | LevelStump):
        for k, reading in enumerate(readings):
            if (stump := reading.read_stump(found)) is not None:
                return k, stump[0], float(stump[1])
    if over == "stumps and constant" and isinstance(found, Constant):
        return None, None, float(found.sign)
    remedy = "give stumps and constants, or TabulatedColumns of a pool: others cannot be proven exactly"
    raise InvalidInput("hypotheses", f"found {found} for the set {over!r}", remedy)


def write_proof(
    form: Form, X: Array, y: Array, point: Point, layout: Layout, readings: Sequence[Reading] | None = None
) -> Proof:
    """Write a proof down, with the values that the checker finds: none of a point without a model."""
    rows, signs = X.tolist(), y.astype(int).tolist()
    try:
        document: Document = {
            "cvxens proof": 3,
            "claim": "",
            "not established": list(checker.NOT_ESTABLISHED),
            "data": {
                **layout.describe(X, y, readings),
                "samples": len(rows),
                "X sha256": checker.digest(",".join(map(float.hex, row)) for row in rows),
                "y sha256": checker.digest(signs),
            },
            "formulation": form.to_document(),
            "model": point.to_model(),
            "multipliers": list(map(str, [point.denominator, *point.numerators])),
        }
        objective, bound = checker.evaluate(document, rows, signs)
        values = {"objective": objective, "bound": bound}
        document["values"] = {name: value if value is None else str(value) for name, value in values.items()}
    except checker.Refused as failure:
        raise InvalidInput("ensemble", f"found what cannot be proven: {failure}", "give a feasible one") from failure
    except ValueError as failure:
        raise InvalidInput("X", f"found numbers that are too long ({failure})", "scale the features") from failure
    document["claim"] = checker.state_claim(document, objective, bound)
    document["sha256"] = checker.digest([json.dumps(document, sort_keys=True)])
    return Proof(document, X, y)


# Rounded points -------------------------------------------------------------------------------------------------------


def _round_weights(
    form: Form, X: Array, y: Array, terms: Sequence[Term], intercept: float
) -> tuple[list[ExactTerm], Fraction]:
    """Round weights and intercept to a grid, and scale them, exactly, to a feasible point."""
    largest = max((abs(weight) for *_, weight in terms), default=1.0)
    # 44 binary digits below the largest: fewer than a double has, so that sums stay short
    grid = Fraction(2) ** (int(np.frexp(largest)[1]) - 44)
    rounded = [(j, t, grid * round(Fraction(weight) / grid)) for j, t, weight in terms]
    b = grid * round(Fraction(intercept) / grid) if form.intercept else Fraction(0)
    scale = Fraction(1)
    if form.penalty == "simplex":
        # of h and -h, too, which cancel each other: their weights are of the sum, and of no score
        scale = 1 / sum((abs(weight) for *_, weight in rounded), Fraction(0))
    merged = _merge_stumps(X, rounded)
    # one that has a weight of 0 says that there is a hypothesis
    merged = [term for term in merged if term[2]] or merged[:1]
    if form.loss == "hard":
        model = Point(merged, b, [], 1).to_model()
        assert model is not None
        scores, _ = checker.evaluate_scores(X.tolist(), model["terms"], form.hypotheses)
        d = int(model["denominator"])
        least = min((Fraction(f) / d + b) * int(sign) for f, sign in zip(scores, y.tolist(), strict=True))
        if least <= 0:
            raise InvalidInput("weights", f"found a margin of {float(least):.3g}", "give weights with margins above 0")
        # above 1 the scale takes off what a margin of 1 does not need
        scale = scale if form.penalty == "simplex" else 1 / least
    return [(j, t, weight * scale) for j, t, weight in merged], b * scale


def round_multipliers(form: Form, X: Array, y: Array, u: Array, *, exact: bool = False) -> tuple[list[int], int]:
    """Round multipliers to integers over one denominator; clip, balance, add up and scale them to feasibility.

    Those that are feasible stay the doubles that they are if it is to be `exact`, unless these differ too much in size.
    """
    caps, of_prices = to_integers(form.prices)
    largest = float(max(u.max(initial=0.0), 1e-300))
    # 60 binary digits below the largest: what that costs is far below a double's
    shift = 60 - int(np.frexp(largest)[1])
    if exact:
        digits = max((Fraction(value).denominator.bit_length() for value in u.tolist()), default=0) - 1
        # 140 more are for sizes down to 1e-60
        shift = min(max(shift, digits), shift + 140)
    q, caps = of_prices * 2 ** max(shift, 0), [cap * 2 ** max(shift, 0) for cap in caps]
    values = [max(round(Fraction(value) * q), 0) for value in u.tolist()]
    if form.loss in {"hinge", "logistic", "soft minimum"}:
        values = [min(value, cap) for value, cap in zip(values, caps, strict=True)]
    if form.loss == "soft minimum":
        # where they are to be balanced, each class has half of the sum
        values, caps, q = [2 * v for v in values], [2 * cap for cap in caps], 2 * q
        for rows in [np.flatnonzero(y < 0), np.flatnonzero(y > 0)] if form.intercept else [np.arange(len(y))]:
            _move_sum(values, caps, rows.tolist(), q // 2 if form.intercept else q)
    elif form.intercept:
        _balance(values, y)
    if form.penalty == "l1":
        s = [value * int(sign) for value, sign in zip(values, y.tolist(), strict=True)]
        edge = Fraction(checker.evaluate_edges(X.tolist(), s, form.hypotheses)[0])
        if edge > form.weight * q:
            # u scaled by weight q / edge: v / q becomes v weight / edge
            factor = form.weight / edge
            values, q = [value * factor.numerator for value in values], factor.denominator
    return values, q


def _move_sum(values: list[int], caps: Sequence[int], rows: Sequence[int], total: int) -> None:
    """Change the values of some rows within [0, cap], those with most room first, until they add up to `total`."""
    missing = total - sum(values[i] for i in rows)
    room = {i: caps[i] - values[i] if missing > 0 else values[i] for i in rows}
    for i in sorted(rows, key=lambda i: -room[i]):
        step = min(abs(missing), room[i])
        values[i] += step if missing > 0 else -step
        missing -= step if missing > 0 else -step


def _balance(values: list[int], y: Array) -> None:
    """Take from the heavier class, from its largest values first, until ``y'u = 0``."""
    excess = sum(value * int(sign) for value, sign in zip(values, y.tolist(), strict=True))
    heavy = [i for i in range(len(values)) if y[i] * excess > 0]
    _move_sum(values, values, heavy, sum(values[i] for i in heavy) - abs(excess))


# Samples that cannot be separated ------------------------------------------------------------------------------------
#
# By Farkas's lemma no weighted vote has a margin above 0 on every sample exactly if some multipliers have no edge above
# 0:
#
#     u >= 0,   sum_i u_i = 1,   sum_i u_i y_i h(x_i) <= 0   for all h,
#
# as the margins of any vote, averaged with u, are then at most 0. Where -h is in the set with h the edges are all 0. Of
# stumps that says: with s_i = u_i y_i, the sum over the samples below each gap of a feature is half of all, so that it
# is 0 over those that share a value, but for the least and the largest one, whose sums are equal; and with the constant
# they are 0 too. Two samples that share every value and have opposite classes are enough. With the constant there is no
# such u where one feature has a value of its own for every sample.


def prove_inseparable(
    formulation: Formulation,
    X: ArrayLike,
    y: ArrayLike,
    *,
    over: str = "stumps and constant",
    layout: Layout | None = None,
) -> Proof:
    """Prove in rational numbers that no weighted vote over a set of hypotheses has a margin above 0 on every sample.

    Parameters
    ----------
    formulation : Formulation
        One with the loss HardMargin, such as ``formulations.hard_margin()``.
    X, y, over, layout
        As for `prove`.

    Returns
    -------
    Proof
        Without a model: the multipliers are the proof. They are a vertex, so few of them are above 0.

    Raises
    ------
    InvalidInput
        Another loss, a sample that can be separated, or one whose multipliers are too many to be solved exactly.

    Examples
    --------
    >>> from cvxens.colgen import formulations
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> proof = prove_inseparable(formulations.hard_margin(), X, [-1.0, 1.0, 1.0, -1.0])
    >>> proof.claim.partition("), ")[2]
    'no weighted vote has a margin above 0 on every sample.'
    >>> proof.document["multipliers"]
    ['4', '1', '1', '1', '1']
    """
    X, signs = np.ascontiguousarray(X, dtype=np.float64) + 0.0, np.asarray(y, dtype=np.float64)
    form = Form.from_formulation(formulation, len(signs), over)
    if form.loss != "hard":
        raise InvalidInput("formulation", f"found the {form.loss} loss", "give one that asks for hard margins")
    equations = _state_equations(form, X, signs)
    at, values = _solve_equations(equations)
    u = [Fraction(0)] * len(signs)
    for i, value in zip(at.tolist(), values, strict=True):
        # what follows the multipliers is the room below 0 of the edges
        if i < len(u):
            u[i] = value
    return write_proof(form, X, signs, Point(None, None, *to_integers(u)), layout or Layout.of_width(X.shape[1]))


def _state_equations(form: Form, X: Array, y: Array) -> csr_array:
    """State what u, and the room of each edge below 0 in a one-sided pool, are to be in combination: 0, row by row."""
    n = len(y)
    if form.is_pool:
        rows = csr_array((X * y[:, np.newaxis]).T)
        if form.hypotheses == "one-sided pool":
            rows = hstack([rows, csr_array(np.eye(X.shape[1]))], format="csr")
    else:
        rows = vstack([_sum_groups(column, y, form.hypotheses) for column in X.T], format="csr")
    if form.intercept or form.hypotheses == "stumps and constant":
        balance = np.zeros((1, rows.shape[1]))
        balance[0, :n] = y
        rows = vstack([rows, csr_array(balance)], format="csr")
    total = np.zeros((1, rows.shape[1]))
    total[0, :n] = 1.0
    return vstack([csr_array(total), rows], format="csr")


def _sum_groups(column: Array, y: Array, hypotheses: str) -> csr_array:
    """Return rows that add up u y over the samples that share a value; without the constant, the ends are one row."""
    values, place = np.unique(column, return_inverse=True)
    signs = y.copy()
    if hypotheses == "stumps":
        if len(values) == 1:
            return csr_array((0, len(y)))
        # the sums of the least and of the largest value are equal: one less the other is 0
        signs[place == len(values) - 1] *= -1
        place = np.where(place == len(values) - 1, 0, place)
    return csr_array((signs, (place, np.arange(len(y)))))


def _solve_equations(equations: csr_array) -> tuple[Indices, list[Fraction]]:
    """Find v >= 0 of which the first row makes 1 and every other 0, over the rationals: where v is above 0, and v."""
    sizes = abs(equations).max(axis=1).toarray().ravel()
    scaled = equations / np.where(sizes > 0, sizes, 1.0)[:, np.newaxis]
    rhs = np.zeros(equations.shape[0])
    rhs[0] = 1.0
    # the simplex method ends at a vertex, where the columns of what is above 0 are independent
    check_time()
    limit = {"time_limit": time_left()}
    program = linprog(np.zeros(equations.shape[1]), A_eq=scaled, b_eq=rhs, method="highs-ds", options=limit)
    # who searches for a proof in the time that is left does without
    check_time()
    if program.status != 0:
        found = f"found a sample that can be separated, or one too near to it ({program.message})"
        raise InvalidInput("X", found, "ask for the optimum of its hard margins instead")
    # so small a share of the largest is none of the vertex, which is then solved exactly, and checked
    at = np.flatnonzero(program.x > 1e-9 * program.x.max())
    rows = csr_array(scaled)[:, at].toarray()
    chosen, values = independent_rows(rows, 1), None
    if len(chosen) == len(at):
        values = solve_rationals(equations[:, at].toarray()[chosen], [Fraction(int(i == 0)) for i in chosen.tolist()])
    if values is None or min(values) < 0:
        remedy = f"give fewer samples or features; cvxens[exact] solves for up to {LARGEST}"
        raise InvalidInput("X", f"found {len(at)} multipliers that cannot be solved exactly", remedy)
    return at, values


# Problems over given columns, which are a pool ------------------------------------------------------------------------


def prove_evaluated(problem: Any, evaluated: Evaluated) -> Proof:
    """Prove how far a point of a problem is from the optimum over its columns, or that optimum itself.

    `InvalidInput` for a problem over others than columns, one with several outputs, or one on scores.
    """
    over_columns = isinstance(problem, Problem) and isinstance(problem.linear_map, ColumnMap)
    if not over_columns or problem.outputs or problem.formulation.on_scores:
        found = f"found one of {type(problem).__name__}, that is not over columns and labels"
        remedy = "take a problem over columns, or prove_kernel(...) with the samples of a kernel"
        raise InvalidInput("certificate", found, remedy)
    H = _tabulate(problem.H)
    (w, u), b = map(evaluated.point.__getitem__, problem.letters[::2]), evaluated.point.get(problem.letters[1])
    hypotheses = [TabulatedColumn(j, H.shape[1], 1) for j in range(H.shape[1])]
    over = "one-sided pool" if problem.nonnegative else "pool"
    return prove(problem.formulation, H, problem.signs, hypotheses, w, 0.0 if b is None else float(b), u=u, over=over)


def _tabulate(H: Columns) -> Array:
    """Return columns as an array."""
    n_samples, n_columns = H.shape
    # so many entries are written down
    if n_samples * n_columns > 5_000_000:
        found = f"found {n_samples:,} x {n_columns:,} values of columns"
        raise InvalidInput("H", found, "give fewer, up to 5,000,000 in all")
    return H.H if isinstance(H, DenseColumns) else H.scores(np.eye(n_columns))


PROVERS.append(prove_evaluated)
