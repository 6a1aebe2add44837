"""AdaBoost and AdaBoost*_nu on any oracle: coordinate descent on the exponential loss, and what it proves of margins.

The margin of a vote is held against the largest one, ``max_a min_i y_i (H a)_i`` over the simplex of weights a. For
every u in the simplex of sample weights that is at most ``max_j sum_i u_i y_i H_ij``, the largest edge under u: the two
sides are the rows' and the columns' of a matrix game. Both are finite for every vote and every u, also where no vote
separates the classes: LL08 P3, min sum w for margins of at least 1, has the value 1 / margin and needs a positive one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import atanh, ceil, inf, log
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.certificates import Certificate, Round
from cvxens.colgen.protocols import Column, Oracle, relative_gap, skip_squares
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.rounding import sum_error
from cvxens.types import Array, Data, Given

NEARLY_ONE = 1 - float(np.finfo(float).eps)
"""The largest edge that has a finite weight; u may be so concentrated that a hypothesis with errors exceeds it."""


@dataclass(frozen=True)
class BoostingRound(Round):
    """A row of the history: one hypothesis and the weight that it got.

    The objective is the smallest margin y f / sum w after the round, and the bound the smallest one so far of the
    oracle on all edges under a round's u: no convex combination of hypotheses has a larger margin.

    Parameters
    ----------
    hypothesis : Hypothesis
        The best one that the oracle found.
    edge : float
        Its edge ``sum_i u_i y_i h(x_i)`` under the round's u.
    weight : float
        What was added to its weight; inf for a perfect hypothesis.
    log_loss : float
        Logarithm of the mean of exp(-y f) after the round, weighted by the prior.
    """

    quantity: ClassVar[str] = "smallest margin"

    hypothesis: Hypothesis = field(kw_only=True)
    edge: float = field(kw_only=True)
    weight: float = field(kw_only=True)
    log_loss: float = field(kw_only=True)


@dataclass(frozen=True)
class BoostingStep:
    """A round with its arrays.

    Parameters
    ----------
    round : BoostingRound
        The hypothesis and its weight.
    u : ndarray of shape (n_samples,)
        The sample weights, with sum 1, that the round began with.
    scores : ndarray of shape (n_samples,)
        y f after the round, unnormalised; those of the hypothesis alone where that is perfect.
    """

    round: BoostingRound
    u: Array
    scores: Array


@dataclass(frozen=True)
class Boosted:
    """An ensemble that boosting made, and how near its margin is to the largest one.

    Parameters
    ----------
    certificate : Certificate
        Of the largest margin, a maximum: the smallest of `margins` against the bound of the last round. It is at most
        0 where the vote does not separate the classes; nothing is proven where nothing bounds the edges.
    hypotheses : tuple of Hypothesis
        Distinct, in the order in which they were found.
    weights : ndarray of shape (n_hypotheses,)
        At least 0; their sum is 1 if one is perfect.
    margins : ndarray of shape (n_samples,)
        ``y_i f(x_i) / sum w``, in [-1, 1].
    u : ndarray of shape (n_samples,)
        The sample weights of the round that the bound is from.
    history : tuple of BoostingRound
        Every round.
    """

    certificate: Certificate
    hypotheses: tuple[Hypothesis, ...]
    weights: Array
    margins: Array
    u: Array
    history: tuple[BoostingRound, ...]

    def decision_function(self, X: Data) -> Array:
        """Evaluate H w on new samples; returns (n_samples,)."""
        f = np.zeros(np.shape(X)[0])
        for hypothesis, weight in zip(self.hypotheses, self.weights.tolist(), strict=True):
            f += weight * hypothesis(X)
        return f


def boosting_steps(
    oracle: Oracle, y: ArrayLike, target: Callable[[float], float] | None = None, *, prior: Given = None
) -> Iterator[BoostingStep]:
    """Boost: round after round, until the caller stops.

    Under ``u_i`` proportional to ``prior_i exp(-y_i f(x_i))`` the oracle's best hypothesis of edge g gets the weight
    ``artanh(g / sum_i u_i |h(x_i)|)``, which for h in {-1, 0, +1} minimises the exponential loss along h; without
    abstentions that falls by the factor ``sqrt(1 - g^2)``, else by more. With a margin t to aim at the weight is
    ``artanh(g) - artanh(t)``.

    Parameters
    ----------
    oracle : Oracle
        Its hypotheses are within [-1, 1].
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    target : callable, optional
        Maps the smallest edge so far, in (0, 1), to the margin aimed at: below that edge and above -1. By default the
        loss is all that counts.
    prior : array-like of shape (n_samples,), optional
        The weights of the samples in the loss, above 0; by default all alike.

    Yields
    ------
    BoostingStep
        None after a hypothesis without errors, nor where no hypothesis has an edge above rounding.

    Raises
    ------
    InvalidInput
        A hypothesis is outside [-1, 1].

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stumps
    >>> steps = boosting_steps(Stumps([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0])
    >>> [(str(step.round.hypothesis), round(step.round.edge, 3)) for step in islice(steps, 2)]
    [('x[0] >= 0.5 -> -1', 0.333), ('x[0] >= 1.5 -> +1', 0.5)]
    """
    validation.offers("oracle", oracle, "price", "sample")
    y = validation.signs(y)
    p = np.ones(len(y)) if prior is None else validation.positive_each("prior", prior, len(y), "sample")
    p = p / p.sum()
    scores, total, smallest = np.zeros(len(y)), 0.0, NEARLY_ONE
    bound, known, began = inf, set[Hypothesis](), perf_counter()
    while True:
        # u_i = p_i exp(-y_i f(x_i)), normalised; the smallest score is taken off, so that none overflows
        u = p * np.exp(scores.min() - scores)
        u /= u.sum()
        priced = oracle.price(y * u, **skip_squares(oracle))
        if not priced.columns:
            return
        hypothesis, z = priced.columns[0].hypothesis, y * _values_within_1(priced.columns[0])
        edge = float(u @ z)
        if edge <= len(y) * np.finfo(float).eps:
            # what the rounding of a sum of len(y) terms, of sizes that add up to 1, can be
            return
        bound = min(bound, priced.edge_bound)
        known.add(hypothesis)
        if z.min() == 1:
            weight, log_loss, margin, scores = inf, -inf, 1.0, z
        else:
            smallest = min(smallest, edge)
            # Schapire & Singer (1999): artanh(edge / coverage), coverage the weight of the samples with h != 0;
            # Raetsch & Warmuth (2005): artanh(edge) - artanh(t) towards the margin t
            coverage = float(u @ np.abs(z)) if target is None else 1.0
            weight = atanh(min(edge / coverage, NEARLY_ONE)) - (0.0 if target is None else atanh(target(smallest)))
            scores, total = scores + weight * z, total + weight
            # ln sum_i p_i exp(-y_i f(x_i))
            log_loss = float(np.log(p @ np.exp(scores.min() - scores)) - scores.min())
            margin = float(scores.min()) / total
        held = margin, bound, relative_gap(bound, margin), len(known), perf_counter() - began
        row = BoostingRound(*held, hypothesis=hypothesis, edge=edge, weight=weight, log_loss=log_loss)
        yield BoostingStep(row, u, scores)
        if weight == inf:
            return


def gathered(steps: Iterable[BoostingStep], n_samples: int, *, aimed: bool = False) -> Boosted:
    """Gather rounds of `boosting_steps`, cut where the caller likes, into an ensemble; an interrupt keeps what is done.

    Parameters
    ----------
    steps : iterable of BoostingStep
        The rounds; none is allowed.
    n_samples : int
        Rows of the sample.
    aimed : bool
        Whether the steps aimed at a margin; the certificate says it where they did not.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stumps
    >>> steps = boosting_steps(Stumps([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0])
    >>> gathered(islice(steps, 2), 3).margins.round(2)
    array([-0.23,  1.  ,  0.23])
    """
    history: list[BoostingRound] = []
    scores, u, bound = np.zeros(n_samples), np.full(n_samples, 1 / n_samples), inf
    try:
        for step in steps:
            history.append(step.round)
            scores = step.scores
            if step.round.bound < bound:
                u, bound = step.u, step.round.bound
    except KeyboardInterrupt:
        if not history:
            raise
    weights = sum_weights(history)
    margins = scores / max(sum(weights.values()), np.finfo(float).tiny)
    unbounded = "the oracle cannot bound the edges" if history else "no hypothesis with an edge was found"
    n_terms, bounded = len(history) + len(scores), bound < inf
    certificate = margin_certificate(
        float(margins.min()), bound, n_terms=n_terms, proven=bounded, unproven=unbounded, aimed=aimed
    )
    return Boosted(certificate, tuple(weights), np.array(list(weights.values())), margins, u, tuple(history))


def sum_weights(history: Sequence[BoostingRound]) -> dict[Hypothesis, float]:
    """Return the weight of every hypothesis; a perfect one is all that counts."""
    if history and history[-1].weight == inf:
        return {history[-1].hypothesis: 1.0}
    weights: dict[Hypothesis, float] = {}
    for row in history:
        weights[row.hypothesis] = weights.get(row.hypothesis, 0.0) + row.weight
    return weights


def adaboost(oracle: Oracle, y: ArrayLike, *, n_rounds: int = 100) -> Boosted:
    """AdaBoost: coordinate descent on the exponential loss, one hypothesis of the oracle a round.

    Freund & Schapire (1997), as LL08 and SL compare with; KIE06 (5)-(6), and TK07 Algorithm 2 with a target edge of 0
    in (20). Its margin need not come near the largest.

    Parameters
    ----------
    oracle, y
        As of `boosting_steps`.
    n_rounds : int
        At most so many rounds, at least 1.

    Returns
    -------
    Boosted
        Fewer rounds after a perfect hypothesis, where no hypothesis has an edge, or on Ctrl-C.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stumps
    >>> boosted = adaboost(Stumps([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0], n_rounds=50)
    >>> len(boosted.hypotheses), bool(boosted.margins.min() > 0.3), boosted.certificate.proven
    (3, True, True)
    """
    y = validation.signs(y)
    return gathered(islice(boosting_steps(oracle, y), validation.whole("n_rounds", n_rounds)), len(y))


def round_bound(n_samples: int, nu: float) -> int:
    """Return ``2 ln(n) / nu^2``, rounded up: the rounds after which AdaBoost*_nu is within nu of the largest margin.

    Raetsch & Warmuth, *Efficient margin maximizing with boosting*, JMLR 6 (2005): its steps aim at the smallest edge so
    far less nu, and no edge is below the largest margin.

    Examples
    --------
    >>> round_bound(100, 0.1)
    922
    """
    if validation.positive("nu", nu) >= 1:
        raise InvalidInput("nu", f"found {nu!r}", "give a number above 0 and below 1")
    return ceil(2 * log(validation.whole("n_samples", n_samples)) / nu**2)


def _values_within_1(column: Column) -> Array:
    """Evaluate a hypothesis whose values must be in [-1, 1]."""
    values = np.asarray(column.values, np.float64)
    largest = float(np.abs(values).max())
    if largest > 1:
        found = f"found the hypothesis {column.hypothesis} with a value of size {largest:g}"
        raise InvalidInput("oracle", found, "give one whose hypotheses are within [-1, 1]")
    return values


def margin_certificate(
    margin: float, bound: float, *, n_terms: int, proven: bool, unproven: str, aimed: bool = False
) -> Certificate:
    """Certify the smallest margin of a normalised vote, ``min_i y_i (H a)_i``, against a bound on that of every vote.

    The bound is the largest edge under some sample weights with sum 1, inf for none; `proven` is True if it is over
    every hypothesis, `unproven` says why not. Unless the margin was `aimed` at, it is said that it was not. Neither sum
    has more than `n_terms` terms.
    """
    certificate = Certificate.between(
        margin,
        bound,
        maximise=True,
        # both are sums of products whose absolute values add up to 1 at most
        rounding=2 * sum_error(n_terms, 1.0),
        proven=proven,
        note="over every hypothesis of the oracle" if proven else unproven,
    )
    about = (
        "the smallest margin of the vote, against the largest that any vote of these hypotheses has; "
        "boosting minimises the exponential loss instead, so a gap is no fault of the fit"
    )
    return certificate if aimed else replace(certificate, about=about)
