"""A formulation of one's own is held against what proofs take it for, and what is wrong is refused by name."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from cvxens.colgen import Ending, Formulation, Priced, column_generation, oracles
from cvxens.errors import InvalidInput
from cvxens.problems import check_formulation
from cvxens.problems.losses import (
    EntropicMinimumMargin,
    Exponential,
    HardMargin,
    Hinge,
    Logistic,
    MulticlassExponential,
    SoftMinimumMargin,
    SquaredError,
    SquaredHinge,
)
from cvxens.problems.modelling import Term
from cvxens.problems.penalties import L1, ElasticNet, Simplex, SquaredL2

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
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_losses_of_the_library_pass(loss):
    outputs = loss.batch_shape[1] if len(loss.batch_shape) > 1 else None
    for intercept in (False, True):
        if intercept and isinstance(loss, MulticlassExponential):
            continue
        checked = check_formulation(Formulation(loss, L1(0.5), intercept=intercept, outputs=outputs), n_points=11)
        assert max(checked.violations.values()) < 1e-6
        assert {"loss: weak duality", "loss: Fenchel's equality"} <= checked.violations.keys()
        assert str(checked).endswith("at 11 random points each")


@pytest.mark.parametrize("penalty", [L1(0.5), SquaredL2(0.3), ElasticNet(0.4, 0.2), Simplex()], ids=str)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_penalties_of_the_library_pass(penalty, nonnegative):
    if penalty.one_sided and not nonnegative:
        return
    checked = check_formulation(Formulation(Hinge(1.0), penalty, nonnegative=nonnegative), n_points=11)
    assert max(checked.violations.values()) < 1e-6


class TooHigh(Hinge):
    def dual_value(self, u):
        return 1.001 * super().dual_value(u)


class TooLow(Hinge):
    def dual_value(self, u):
        return 0.99 * super().dual_value(u)


class Unbalanced(Hinge):
    def repair(self, u, y):
        return np.clip(u, 0, self.C)


class OutOfTheBox(Hinge):
    def repair(self, u, y):
        return 2 * self.C + u


class Dented(Hinge):
    def value(self, z):
        return super().value(z) - 0.1 * float((z * z).sum())


class OtherModel(Hinge):
    def term(self, z):
        return Term(cp.sum(cp.square(z)))


class HalfConjugate(ElasticNet):
    def conjugate(self, edges):
        return 0.5 * super().conjugate(edges)


class TwiceConjugate(ElasticNet):
    def conjugate(self, edges):
        return 2 * super().conjugate(edges)


class FirstOnce(SquaredL2):
    def value(self, w):
        return super().value(w) + w[0] ** 2


class Leaning(L1):
    def value(self, w):
        return super().value(w) + 0.1 * w.sum()


class Mean(L1):
    def value(self, w):
        return super().value(w) / len(w)


WRONG = [
    (TooHigh(1.0), L1(), r"^loss: found TooHigh with dual_value\(u\) = .* where value\(z\) \+ u'z = .* at z = \["),
    (TooLow(1.0), L1(), r"^loss: found TooLow with dual_value.* where the least value\(z\) \+ u'z is"),
    (Unbalanced(1.0), L1(), r"^loss: found Unbalanced whose repair\(u, y\) leaves y'u = "),
    (OutOfTheBox(1.0), L1(), r"^loss: found OutOfTheBox with dual_violation\(u\) = 1"),
    (Dented(1.0), L1(), r"^loss: found Dented that is not convex between \["),
    (OtherModel(1.0), L1(), r"^loss: found OtherModel whose `term` is .* and whose `value` is"),
    (Hinge(1.0), HalfConjugate(0.5, 0.5), r"^penalty: found HalfConjugate with the conjugate .* where edges'w - value"),
    (Hinge(1.0), TwiceConjugate(0.5, 0.5), r"^penalty: found TwiceConjugate with .*, where the largest edges'w"),
    (Hinge(1.0), FirstOnce(), r"^penalty: found one that goes from .* where weights change places; give"),
    (Hinge(1.0), Leaning(), r"^penalty: found one that goes from .* where weights change their signs"),
    (Hinge(1.0), Mean(), r"^penalty: found one that goes from .* where weights are joined by a weight of 0"),
]


@pytest.mark.parametrize(("loss", "penalty", "message"), WRONG, ids=lambda part: type(part).__name__)
def test_what_is_wrong_is_refused_by_name(loss, penalty, message):
    with pytest.raises(InvalidInput, match=message):
        check_formulation(Formulation(loss, penalty, intercept=True))


@pytest.mark.parametrize(
    ("loss", "penalty", "message"),
    # a conjugate that is too large is no lie, and a few points need not show it
    [case for case in WRONG if not isinstance(case[1], TwiceConjugate)],
    ids=lambda part: type(part).__name__,
)
def test_a_run_refuses_it_before_it_begins(loss, penalty, message):
    """A dual value that is a thousandth too high would have ended a run early, with a bound above the optimum."""
    with pytest.raises(InvalidInput, match=message):
        column_generation(Formulation(loss, penalty, intercept=True), oracles.Stumps(X), y)


def test_what_is_right_runs():
    class Own(Logistic):
        pass

    run = column_generation(Formulation(Own(0.5), L1(0.3), intercept=True), oracles.Stumps(X), y)
    assert run.certificate.holds(1e-6)
    assert run.ending is Ending.OPTIMAL


def test_targets_labels_and_sizes():
    targets = Formulation(SquaredError(1.0, np.arange(600.0).reshape(300, 2)), L1(), outputs=2)
    assert "loss: Fenchel's equality" not in check_formulation(targets, n_points=2).violations
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
