"""A formulation of one's own is held against what proofs take it for, and what is wrong is refused by name."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from cvxens.colgen import Ending, Formulation, Priced, column_generation, oracles
from cvxens.errors import InvalidInput
from cvxens.problems import check_formulation
from cvxens.problems.duality import balance_classes
from cvxens.problems.linear_dual import Hinges, LinearDual
from cvxens.problems.losses import (
    CVaR,
    EntropicMinimumMargin,
    Exponential,
    HardMargin,
    Hinge,
    HuberizedHinge,
    Logistic,
    MulticlassExponential,
    SoftMinimumMargin,
    SquaredError,
    SquaredHinge,
)
from cvxens.problems.modelling import Term
from cvxens.problems.pair_losses import PairwiseExponential, PairwiseHinge, PairwiseSquaredHinge
from cvxens.problems.penalties import L1, ElasticNet, RowNorms, Simplex, SquaredL2
from cvxens.problems.survival_losses import CoxPartialLikelihood
from cvxens.problems.target_losses import AbsoluteError, Deviance, EpsilonInsensitive, HuberError, Pinball

random = np.random.default_rng(0)
X = random.integers(0, 6, (14, 2)).astype(float)
y = np.where(X.sum(axis=1) + 3 * random.normal(size=14) > 5, 1.0, -1.0)

LOSSES = [
    Hinge(0.5),
    Hinge(random.uniform(0.1, 1, 8)),
    Exponential(0.5),
    Logistic(2.0),
    SquaredHinge(0.3),
    HardMargin(),
    SoftMinimumMargin(0.4),
    EntropicMinimumMargin(0.4, 3.0),
    SquaredError(0.5, random.normal(size=(8, 3))),
    MulticlassExponential(0.5, np.array([0, 1, 2, 1]), 3),
    HuberizedHinge(random.uniform(0.1, 1, 8), 0.5),
    CVaR(0.3, 2.0),
    AbsoluteError(random.normal(size=8), 0.5),
    Pinball(random.normal(size=8), 0.3, 2.0),
    EpsilonInsensitive(random.normal(size=8), 0.1, 0.5),
    HuberError(random.normal(size=8), 0.5, 0.7),
    *(Deviance(np.arange(8.0) + (power == 2), power, 0.5) for power in (1, 1.6, 2)),
    PairwiseHinge(np.array([1.0, -1.0, 1.0, -1.0, -1.0])),
    PairwiseExponential(np.array([1.0, -1.0, 1.0, -1.0, -1.0])),
    PairwiseSquaredHinge(np.array([1.0, -1.0, 1.0, -1.0, -1.0])),
    CoxPartialLikelihood(random.uniform(1, 5, 8), np.arange(8) % 3 > 0),
]
NO_INTERCEPT = (MulticlassExponential, PairwiseHinge, PairwiseExponential, PairwiseSquaredHinge, CoxPartialLikelihood)
DIFFERENCES = ("slopes", "curvature")
PENALTIES = [
    *(L1(0.5), SquaredL2(0.3), ElasticNet(0.4, 0.2), Simplex(), RowNorms(0.3) + SquaredL2(0.1)),
    *(lambda w: [0, cp.norm1(w) <= 3], lambda w: [0.2 * cp.norm1(w), cp.abs(w) <= 1]),
    *(lambda w: [0.1 * cp.norm1(w), cp.norm1(w) <= 3], lambda w: cp.sum(cp.huber(w, 0.5))),
    *(lambda w: cp.square(cp.norm1(w)), lambda w: 2 * cp.norm2(w), lambda w: cp.norm1(w) + cp.norm_inf(w)),
]


def assert_passes(formulation, n_points=4):
    """All claims hold to a solver's digits, and slopes to those of differences, at a point of every scale."""
    checked = check_formulation(formulation, n_points=n_points)
    of_differences = {claim for claim in checked.violations if claim.endswith(DIFFERENCES)}
    assert max(checked.violations[claim] for claim in of_differences) < 1e-3
    assert max(checked.violations[claim] for claim in checked.violations.keys() - of_differences) < 1e-6
    assert str(checked).endswith(f"at {n_points} random points each")
    return checked.violations.keys()


@pytest.mark.thinned(1, intercept=[True, False], loss=LOSSES)
def test_the_losses_of_the_library_pass(loss, intercept):
    outputs = loss.batch_shape[1] if len(loss.batch_shape) > 1 else None
    intercept = intercept and not isinstance(loss, NO_INTERCEPT)
    claims = assert_passes(Formulation(loss, L1(0.5), intercept=intercept, outputs=outputs))
    assert {"loss: weak duality", "loss: Fenchel's equality"} <= claims
    assert ("loss: intercept" in claims) == (intercept and not isinstance(loss, HardMargin))
    assert ("loss: curvature" in claims) == (loss.curvature is not None)


@pytest.mark.thinned(1, nonnegative=[False, True], penalty=PENALTIES)
def test_the_penalties_of_the_library_pass(penalty, nonnegative):
    nonnegative = nonnegative or isinstance(penalty, Simplex)
    claims = assert_passes(Formulation(Hinge(1.0), penalty, nonnegative=nonnegative))
    wanted = ("shrink", "weak duality", "slopes", "Fenchel's equality", "threshold")
    assert {f"penalty: {claim}" for claim in wanted} - claims <= {"penalty: threshold"}


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_penalties_on_rows_pass(norm):
    loss = SquaredError(0.5, random.normal(size=(8, 3)))
    for nonnegative in (False, True):
        assert assert_passes(Formulation(loss, RowNorms(0.7, norm), outputs=3, nonnegative=nonnegative), 4)


def wrong(base, **methods):
    """Return a subclass with these methods in place of its own."""
    return type("Own", (base,), methods)


TWICE = wrong(ElasticNet, conjugate=lambda own, edges: 2 * ElasticNet.conjugate(own, edges))
WRONG = {
    "too high": (
        wrong(Hinge, dual_terms=lambda own, u: 1.001 * u),
        r"^loss: found Own with dual_value\(u\) = .* where value\(z\) \+ u'z = .* at z = \[",
    ),
    "too low": (
        wrong(Hinge, dual_terms=lambda own, u: 0.99 * u),
        r"^loss: found Own with dual_value.* where the least value\(z\) \+ u'z is",
    ),
    "out of the box": (
        wrong(Hinge, repair=lambda own, u, y: 2 * own.C + u),
        r"^loss: found Own with violation\(u\) = 1",
    ),
    "y'u forgotten": (
        wrong(Hinge, repair=lambda own, u, y: np.clip(u, 0, own.C)),
        r"^loss: found Own whose repair\(u, y\) leaves y'u = ",
    ),
    "dented": (
        wrong(Hinge, terms=lambda own, z: Hinge.terms(own, z) - 0.1 * z * z),
        r"^loss: found Own that is not convex between \[",
    ),
    "another model": (
        wrong(Hinge, model=lambda own, z: Term(cp.sum(cp.square(z)))),
        r"^loss: found Own whose `model` is .* and whose `value` is",
    ),
    "twice": (TWICE, r"^penalty: found Own with .*, where the largest edges'w"),
    "first once": (
        wrong(SquaredL2, value=lambda own, w: SquaredL2.value(own, w) + w[0] ** 2),
        r"^penalty: found one that goes from .* where weights change places; give",
    ),
    "leaning": (
        wrong(L1, value=lambda own, w: L1.value(own, w) + 0.1 * w.sum()),
        r"^penalty: found one that goes from .* where weights change their signs",
    ),
    "mean": (
        wrong(L1, value=lambda own, w: L1.value(own, w) / len(w)),
        r"^penalty: found one that goes from .* where weights are joined by a weight of 0",
    ),
}


ROUNDED, NET = HuberizedHinge, ElasticNet
OF_LOSSES = {
    # the conjugate without C, and without its half
    "no C": wrong(ROUNDED, dual_terms=lambda own, u: u - own.d * u * u / 2),
    "no half": wrong(ROUNDED, dual_terms=lambda own, u: u - own.d * u * u / own.C),
    "too weak": wrong(ROUNDED, dual_terms=lambda own, u: 0.9 * (u - own.d * u * u / (2 * own.C))),
    "wrong near the cap": wrong(
        ROUNDED, dual_terms=lambda own, u: u - own.d * u * u / (2 * own.C) + np.where(u > 0.95 * own.C, 0.05 * u, 0)
    ),
    "too weak near the cap": wrong(
        ROUNDED, dual_terms=lambda own, u: u - own.d * u * u / (2 * own.C) - np.where(u > 0.95 * own.C, 0.05 * u, 0)
    ),
    "no cap": wrong(ROUNDED, repair=lambda own, u, y: balance_classes(np.maximum(u, 0), y) if y is not None else u),
    "no floor": wrong(
        ROUNDED, repair=lambda own, u, y: balance_classes(np.minimum(u, own.C), y), violation=lambda own, u: 0.0
    ),
    "model of another price": wrong(ROUNDED, model=lambda own, z: Term(ROUNDED(2 * own.C, own.d).model(z).expression)),
    "not convex": wrong(ROUNDED, terms=lambda own, z: np.sqrt(np.abs(1 - z))),
    "a sample left out": wrong(ROUNDED, terms=lambda own, z: ROUNDED(own.C, own.d).terms(z)[1:]),
    "steep": wrong(ROUNDED, multipliers=lambda own, z: own.C * np.clip(2 * (1 - z) / own.d, 0, 1)),
    "twice the multipliers": wrong(ROUNDED, multipliers=lambda own, z: 2 * own.C * np.clip((1 - z) / own.d, 0, 1)),
    "flat": wrong(ROUNDED, curvature=lambda own, u: 0.1 * np.where((u > 0) & (u < own.C), own.C / own.d, 0.0)),
    "too high far out": wrong(ROUNDED, terms=lambda own, z: ROUNDED(own.C, own.d).terms(z) * np.where(z < -5, 1.5, 1)),
    "b off": wrong(ROUNDED, best_intercept=lambda own, f, y: ROUNDED(own.C, own.d).best_intercept(f, y) + 0.5),
    "slopes of a hinge": wrong(Hinge, slopes=lambda own, z, near: (0.0 * z, 0.0 * z)),
    "hinges": wrong(
        Hinge,
        linear_dual=property(lambda own: LinearDual((Hinges(1.0, 0.5, own.C),))),
        terms=lambda own, z: own.C * np.maximum(1 - z, 0),
    ),
    "another shape": wrong(ROUNDED, multipliers=lambda own, z: np.full(3, own.C)),
}
OF_PENALTIES = {
    # of hypotheses outside of the master, too
    "no shrink": wrong(NET, shrink=lambda own, e: 1.0),
    "shrink twice too large": wrong(
        NET, shrink=lambda own, e: min(1.0, 2 * own.l1 / max(2 * own.l1, min(e.bound, e.outside)))
    ),
    "shrink by those inside": wrong(
        NET, shrink=lambda own, e: own.l1 / max(own.l1, float(e.inside().max(initial=0.0)))
    ),
    "shrink by half of those outside": wrong(
        NET,
        shrink=lambda own, e: (
            own.l1 / max(own.l1, e.outside / 2 if np.isfinite(e.outside) else min(e.bound, e.outside))
        ),
    ),
    "half": wrong(NET, conjugate=lambda own, e: 0.5 * NET(own.l1, own.l2).conjugate(e)),
    "no l2": wrong(NET, conjugate=lambda own, e: own.l2 * NET(own.l1, own.l2).conjugate(e)),
    "concave": wrong(NET, value=lambda own, w: float(own.l1 * np.sqrt(np.abs(w)).sum() + own.l2 / 2 * (w * w).sum())),
    "places": wrong(NET, value=lambda own, w: NET(own.l1, own.l2).value(w) + 0.1 * float(abs(w[0]))),
    "no square": wrong(NET, model=lambda own, w: L1(own.l1).model(w)),
    "threshold": wrong(NET, threshold=lambda own, w, edges: 3 * own.l1),
    "slopes": wrong(NET, slopes=lambda own, w: tuple(2 * end for end in NET(own.l1, own.l2).slopes(w))),
    "edge_limit": wrong(L1, edge_limit=property(lambda own: 2 * own.weight)),
    "growing": wrong(L1, shrink=lambda own, e: own.weight / e.bound),
    "squares inside": wrong(SquaredL2, conjugate=lambda own, e: float((e.inside() ** 2).sum()) / (2 * own.weight)),
}


@pytest.mark.thinned(where=lambda n_points, mistake: n_points > 4)
@pytest.mark.parametrize("n_points", [20, 4])
@pytest.mark.parametrize("mistake", [*OF_LOSSES.values(), *OF_PENALTIES.values()], ids=[*OF_LOSSES, *OF_PENALTIES])
def test_a_planted_mistake_is_found(mistake, n_points):
    base = mistake.__base__
    own = mistake(*{Hinge: (0.3,), ROUNDED: (0.3, 0.5), NET: (1.0, 3.0)}.get(base, (0.7,)))
    part = "loss" if base in {Hinge, ROUNDED} else "penalty"
    parts = {"loss": HuberizedHinge(0.3, 0.5), "penalty": L1(0.5), part: own}
    with pytest.raises(InvalidInput, match=rf"^{part}: found "):
        check_formulation(Formulation(**parts, intercept=part == "loss"), n_points=n_points)


METHODS = {
    "loss": ("terms", "multipliers", "dual_terms", "repair", "violation", "slopes", "curvature", "model"),
    "penalty": ("value", "repair", "shrink", "conjugate", "slopes", "threshold", "model"),
}


@pytest.mark.parametrize("returned", [None, np.nan])
@pytest.mark.parametrize(("part", "method"), [(part, name) for part, names in METHODS.items() for name in names])
def test_a_method_that_returns_none_or_nan_is_named(part, method, returned):
    if method == "model" and returned is not None:
        return
    own = wrong({"loss": ROUNDED, "penalty": NET}[part], **{method: lambda own, *given: returned})(1.0, 0.5)
    parts = {"loss": Logistic(1.0), "penalty": L1(), part: own}
    with pytest.raises(InvalidInput, match=rf"^{part}: found Own whose `{method}` returns \[?{returned}"):
        column_generation(Formulation(**parts), oracles.Stumps(X), y)


def test_a_dual_value_that_is_no_number_at_a_share_of_u_is_named():
    """Of a loss with a linear part u - a is in the domain, and a share of u need not be."""

    class Tilted(Logistic):
        def terms(self, z):
            return super().terms(z) + 1.3 * z

        def model(self, z):
            return Term(super().model(z).expression + 1.3 * cp.sum(z))

        def multipliers(self, z):
            return super().multipliers(z) - 1.3

        def curvature(self, u):
            return super().curvature(u + 1.3)

        def dual_terms(self, u):
            with np.errstate(invalid="ignore"):
                return super().dual_terms(u + 1.3)

        def repair(self, u, y):
            return np.clip(u, -1.3, -0.3)

        def violation(self, u):
            return super().violation(u + 1.3)

    class Named(Tilted):
        def dual_terms(self, u):
            return super().dual_terms(u) if ((u >= -1.3) & (u <= -0.3)).all() else np.array([-np.inf])

    with pytest.raises(InvalidInput, match=r"^loss: found Tilted whose `dual_terms` returns .*nan"):
        check_formulation(Formulation(Tilted(1.0), L1()))
    assert check_formulation(Formulation(Named(1.0), L1())).violations


@pytest.mark.parametrize(
    "loss", [SoftMinimumMargin(0.2), EntropicMinimumMargin(0.2, 3.0)], ids=lambda loss: type(loss).__name__
)
def test_a_share_of_multipliers_whose_sum_is_prescribed_has_no_bound(loss):
    """The primal falls without end in all margins at once; under an l1 penalty the dual was above the primal."""
    u = np.full(6, 1 / 6)
    assert loss.dual_value(u) >= 0
    assert loss.dual_value(0.5 * u) == -np.inf


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_by_name(name):
    """By a check, and by a run before it begins: a dual value a thousandth too high would end it above the optimum."""
    own, message = WRONG[name]
    loss, penalty = (own(1.0), L1()) if issubclass(own, Hinge) else (Hinge(1.0), own(0.5))
    formulation = Formulation(loss, penalty, intercept=True)
    with pytest.raises(InvalidInput, match=message):
        check_formulation(formulation)
    # a conjugate that is too large is no lie, and a few points need not show it
    if own is not TWICE:
        with pytest.raises(InvalidInput, match=message):
            column_generation(formulation, oracles.Stumps(X), y)


def test_what_is_right_runs():
    class Own(Logistic):
        pass

    run = column_generation(Formulation(Own(0.5), L1(0.3), intercept=True), oracles.Stumps(X), y)
    assert run.certificate.holds(1e-6)
    assert run.ending is Ending.OPTIMAL


def test_targets_labels_and_sizes():
    targets = Formulation(SquaredError(1.0, np.arange(600.0).reshape(300, 2)), L1(), outputs=2)
    assert "loss: model" not in check_formulation(targets, n_points=2).violations
    assert check_formulation(Formulation(Hinge(1.0), L1()), y, n_points=1).n_points == 1
    assert check_formulation(Formulation(Hinge(1.0), L1()), n_samples=3).violations
    with pytest.raises(InvalidInput, match=r"^formulation: found 3"):
        check_formulation(3)
    with pytest.raises(InvalidInput, match=r"^n_points: found 0"):
        check_formulation(Formulation(Hinge(1.0), L1()), n_points=0)


@dataclass(frozen=True)
class Careless:
    """Prices the columns of a pool, and says that its third best is no better than nothing."""

    pool: oracles.Pool

    @property
    def sample(self):
        return self.pool.sample

    negations = True

    def price(self, s, exclude=()):
        priced = self.pool.price(s)
        worst, edge = priced.columns[-1], priced.columns[-1].edge
        return Priced([worst, *priced.columns[:-1]], edge, np.inf)


def test_an_oracle_whose_other_columns_are_beyond_its_bound_is_found_out():
    """Its best column keeps the bound; the ones behind it do not."""
    H = np.where(random.random((14, 5)) < 0.4, -1.0, 1.0) * y[:, None]
    with pytest.raises(InvalidInput, match=r"^oracle: found Careless with edge_bound = "):
        column_generation(Formulation(Hinge(1.0), L1(0.1)), Careless(oracles.Pool(H)), y)
