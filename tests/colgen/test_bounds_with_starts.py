"""Every bound of a run is one over the oracle's hypotheses and the start, in every round."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, repeat
from math import inf

import numpy as np
import pytest
from brute_force import Table, Tabulated, all_stumps, linear_program, noisy, soft_minimum_program
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.smoothing import Averaged, InOut, stabilised
from cvxens.colgen import (
    Checkpoint,
    Column,
    Ending,
    Formulation,
    MasterSolution,
    Priced,
    column_generation,
    formulations,
    iterate,
)
from cvxens.colgen.masters import CvxpyMaster, HighsMaster, InteriorPointMaster, NewtonMaster
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Stump
from cvxens.problems import Problem
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1, ElasticNet

N = 30


@dataclass(frozen=True)
class Product:
    """The sign of a product of two features above a threshold: no stump."""

    threshold: float
    sign: float = 1.0

    def __call__(self, X):
        return self.sign * np.where(X[:, 0] * X[:, 1] > self.threshold, 1.0, -1.0)


@dataclass(frozen=True)
class Step:
    """A stump by another name."""

    feature: int
    threshold: float
    sign: float = 1.0

    def __call__(self, X):
        return self.sign * np.where(X[:, self.feature] > self.threshold, 1.0, -1.0)


class Silent:
    """The stumps, by an oracle that does not say what is outside; a deaf one excludes nothing."""

    negations = True

    def __init__(self, X, *, deaf=False, **options):
        self.oracle, self.deaf = Stumps(X, **options), deaf
        self.sample = self.oracle.sample

    def price(self, s, exclude=()):
        return replace(self.oracle.price(s, () if self.deaf else exclude), outside_bound=inf)


ORACLES = {
    "stumps": Stumps,
    "one stump a round": partial(Stumps, columns_per_round=1),
    "deaf": partial(Silent, deaf=True),
    "silent": partial(Silent, columns_per_round=2),
}


PROBLEMS = {
    "soft margin": (
        lambda n: formulations.soft_margin(2.4 / n),
        lambda M, y: linear_program(M, y, slack=2.4 / len(y), one_sided=True),
    ),
    "lpboost": (
        lambda n: formulations.lpboost(1 / (0.3 * n)),
        lambda M, y: soft_minimum_program(M, y, 1 / (0.3 * len(y)), one_sided=True),
    ),
    "free weights": (
        lambda n: Formulation(Hinge(2.4 / n), L1(), intercept=True),
        lambda M, y: linear_program(M, y, slack=2.4 / len(y), intercept=True),
    ),
}
MASTERS = {
    "soft margin": [HighsMaster, InteriorPointMaster, stabilised(HighsMaster, InOut(0.5))],
    "lpboost": [HighsMaster, InteriorPointMaster, stabilised(HighsMaster, Averaged(0.3))],
    "free weights": [HighsMaster, stabilised(InteriorPointMaster, InOut(0.5))],
}


@st.composite
def cases(draw):
    """Noisy products of two features, and a start of foreign hypotheses, stumps, copies and negations."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(N, 2)).round(1)
    flipped = rng.random(N) < draw(st.sampled_from([0.05, 0.2, 0.4]))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0) * np.where(flipped, -1, 1)
    y[:2] = 1.0, -1.0
    signs = st.sampled_from([1.0, -1.0])
    foreign = st.builds(Product, st.sampled_from([-0.3, 0.0, 0.2]), signs)
    stumps = st.builds(Step, st.integers(0, 1), st.sampled_from([-0.53, 0.04, 0.61]), signs)
    start = draw(st.lists(st.one_of(foreign, stumps), min_size=1, max_size=7))
    return X, y, start


def with_copies(X, start):
    """All columns of the oracle and the start: two stumps that agree on the sample are two hypotheses."""
    return np.column_stack([all_stumps(X), *(h(X) for h in start)])


def columns_of(X, start, *, free):
    """All columns of the oracle and the start; with both signs of the oracle's, and one of each pair if free."""
    stumps = all_stumps(X)
    own = np.column_stack([h(X) for h in start])
    both = np.column_stack([stumps, own] if free else [stumps, -stumps, own])
    seen, kept = set(), []
    for column in both.T + 0.0:
        keys = {column.tobytes(), (0.0 - column).tobytes()} if free else {column.tobytes()}
        if not keys & seen:
            seen.add(column.tobytes())
            kept.append(column)
    return np.column_stack(kept)


def assert_between(run, truth, formulation, slack=1e-9):
    """In every round: dual <= truth <= primal of a minimum, the other way round of a maximum."""
    sense, size = formulation.sense, slack * max(1.0, abs(truth))
    for row in run.history:
        assert sense * row.bound <= sense * truth + size
        assert sense * row.objective >= sense * truth - size
    assert sense * run.certificate.dual <= sense * truth + size
    assert sense * run.certificate.primal >= sense * truth - size
    assert run.certificate.gap >= 0
    assert run.ending is not Ending.VIOLATED


@given(cases(), st.sampled_from(list(PROBLEMS)), st.sampled_from(list(ORACLES)), st.integers(0, 2), st.data())
def test_linear_programs_are_between_their_bounds_in_every_round(case, name, oracle, master, data):
    X, y, start = case
    make, program = PROBLEMS[name]
    formulation = make(N)
    truth = program(columns_of(X, start, free=not formulation.nonnegative), y)
    chosen = MASTERS[name][master % len(MASTERS[name])]
    tol = data.draw(st.sampled_from([1e-6, 1e-2, 0.2]))
    run = column_generation(formulation, ORACLES[oracle](X), y, start=start, tol=tol, master=chosen)
    assert_between(run, truth, formulation)
    assert run.certificate.holds(tol)
    assert run.ending is Ending.OPTIMAL


ELASTIC = Formulation(Hinge(0.2), ElasticNet(0.3, 0.5), intercept=True)


@pytest.mark.parametrize(
    ("formulation", "oracle", "master"),
    [
        (formulations.svm(0.2), "stumps", NewtonMaster),
        (formulations.svm(0.2), "silent", NewtonMaster),
        (ELASTIC, "stumps", CvxpyMaster),
    ],
    ids=["squares", "squares, silent", "elastic net by the reference"],
)
@settings(max_examples=4)
@given(case=cases(), tol=st.sampled_from([1e-6, 1e-2, 0.2]))
@pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")
def test_squares_are_between_their_bounds_in_every_round(formulation, oracle, master, case, tol):
    X, y, start = case
    # copies of a column share a weight, which costs less squared: a run takes a stump once, or once a feature
    most, least = (
        Problem(formulation, H, y).solve(solver="CLARABEL").objective
        for H in (columns_of(X, start, free=True), with_copies(X, start))
    )
    run = column_generation(formulation, ORACLES[oracle](X), y, start=start, tol=tol, master=master)
    digits = 1e-7 if master is NewtonMaster else 1e-6
    assert all(row.bound <= most * (1 + digits) and row.objective >= least * (1 - digits) for row in run.history)
    assert run.certificate.dual <= most * (1 + digits)
    assert run.certificate.primal >= least * (1 - digits)
    assert run.certificate.gap >= 0
    if oracle == "stumps" or least >= most * (1 - digits):
        assert run.certificate.holds(tol)
        assert run.ending is Ending.OPTIMAL
    else:
        # of hypotheses that may be copies a run takes one, and the squares of all are in the bound
        assert run.certificate.primal <= most * (1 + tol)


@pytest.mark.thinned(1, oracle=list(ORACLES), tol=[1e-6, 0.2])
def test_a_resumed_run_has_the_bounds_of_the_start(tmp_path, oracle, tol):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 2)).round(1)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    y[:4] *= -1
    start = [Product(0.0), Step(0, 0.04, -1.0)]
    formulation = formulations.soft_margin(0.08)
    truth = linear_program(columns_of(X, start, free=False), y, slack=0.08, one_sided=True)
    kept = Checkpoint(tmp_path / "run", every_rounds=1)
    options = {"start": start, "tol": tol, "checkpoint": kept}
    for max_columns in (1, 4, None, None):
        run = column_generation(formulation, ORACLES[oracle](X), y, max_columns=max_columns, **options)
        assert_between(run, truth, formulation)
    assert run.certificate.holds(tol)


def test_an_interrupt_in_the_first_round_returns_no_columns_and_no_weights():
    class Pressed(Stumps):
        def price(self, s, exclude=()):
            raise KeyboardInterrupt

    X, y = noisy(30, 2, seed=5)
    run = column_generation(formulations.soft_margin(0.1), Pressed(X), y, start=[Product(0.0)])
    assert (run.ending, len(run.columns), len(run.weights)) == (Ending.INTERRUPTED, 0, 0)
    assert not run.certificate.proven


class Scripted:
    """A master of fixed multipliers, with a bound that shows what it was told."""

    def __init__(self, s, *, free):
        self.s, self.free, self.added = s, free, []

    def add(self, columns):
        self.added += columns

    def solve(self):
        closed = None if self.free else np.full(len(self.added), True)
        return MasterSolution(np.zeros(len(self.added)), np.zeros(()), np.abs(self.s), self.s, 1.0, 0.5, closed)

    def bound(self, solution, priced):
        return -priced.edge_bound


class Fixed:
    """An oracle of one answer, over a table."""

    negations = True

    def __init__(self, table, priced):
        self.sample, self.priced = table, priced

    def price(self, s, exclude=()):
        return self.priced


TABLE = np.array([[1.0, 3.0], [1.0, -5.0], [1.0, 1.0]])
S = np.array([0.5, 0.25, -0.25])


@pytest.mark.product(free=[True, False], sign=[1.0, -1.0])
def test_the_edges_of_the_start_are_in_the_bounds(free, sign):
    """The edge of the second column is 0.5 * 3 - 0.25 * 5 - 0.25 = 0, of its shifted twin it is not."""
    table = np.column_stack([TABLE, [2.0, 4.0, -4.0]])
    guest = Tabulated(2, sign)
    edge = sign * 3.0
    answer = Priced([], 0.25, 0.0625, 0.25)
    (step,) = iterate(Scripted(S, free=free), Fixed(table, answer), [guest])
    counted = abs(edge) if free else edge
    assert step.priced.edge_bound == max(0.25, counted)
    assert step.priced.edge_square_sum == 0.0625 + max(counted, 0.0) ** 2
    assert step.priced.outside_bound == 0.25


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (Priced([Column(Tabulated(0, 1.0), TABLE, 0.5)], 0.25, 9.0, 9.0), "edge_bound = 0.25, .* an edge of 0.5"),
        (Priced([Column(Tabulated(0, 1.0), TABLE, 0.0)], 0.25, 9.0, 9.0), "edge_bound = 0.25, .* an edge of 0.5"),
        (Priced([Column(Tabulated(0, -1.0), TABLE, 0.0)], 0.25, 9.0, 9.0), "edge_bound = 0.25, .* an edge of 0.5"),
        (Priced([Column(Tabulated(0, 1.0), TABLE, 0.5)], 0.5, 9.0, 0.2), "outside_bound = 0.2, .* an edge of 0.5"),
        (Priced([], np.nan), "a bound that is not a number"),
        (Priced([], 0.0, np.nan), "a bound that is not a number"),
    ],
)
def test_bounds_that_an_oracles_own_hypotheses_contradict_are_refused(answer, found):
    with pytest.raises(InvalidInput, match=f"^oracle: found Fixed with {found}"):
        list(iterate(Scripted(S, free=True), Fixed(TABLE, answer)))


def test_bounds_below_the_edges_of_what_an_oracle_found_before_are_refused():
    class Forgetful:
        sample, negations = TABLE, True

        def __init__(self, **second):
            first = Priced([Column(Tabulated(0, 1.0), TABLE, 0.75)], 1.0, 1.0)
            self.answers = iter([first, Priced([], **{"edge_bound": 9.0, **second})])

        def price(self, s, exclude=()):
            return next(self.answers)

    for wrong in ({"edge_bound": 0.25}, {"edge_square_sum": 0.2}):
        with pytest.raises(InvalidInput, match=r"^oracle: found .*Forgetful with .*while its own hypotheses have"):
            list(iterate(Scripted(S, free=True), Forgetful(**wrong)))
    assert len(list(iterate(Scripted(S, free=True), Forgetful(edge_square_sum=0.25)))) == 2


def test_what_rounding_takes_off_a_bound_is_added_to_it():
    own = Column(Tabulated(0, 1.0), TABLE, 0.5)
    (step,) = iterate(Scripted(S, free=True), Fixed(TABLE, Priced([own], 0.5 - 1e-13)))
    assert step.priced.edge_bound == 0.5


class Boastful(Table):
    """An exact oracle but for the share of the true bound that it states."""

    share = 0.5

    def price(self, s, exclude=()):
        priced = super().price(s, exclude)
        return replace(priced, edge_bound=self.share * priced.edge_bound)


@pytest.mark.parametrize(
    "formulation",
    [formulations.soft_margin(0.3), formulations.lpboost(0.2), Formulation(Hinge(0.3), L1(), intercept=True)],
)
def test_no_proof_rests_on_a_bound_that_is_too_low(formulation):
    X, y = noisy(24, 2, seed=3)
    with pytest.raises(InvalidInput, match=r"^oracle: found Boastful with edge_bound"):
        column_generation(formulation, Boastful(all_stumps(X)), y)


def test_a_bound_beyond_the_objective_is_none():
    """A master whose bounds are too high by far: the run says so, whatever the tolerance."""

    class Wrong(HighsMaster):
        def bound(self, solution, priced):
            return 2 * solution.objective

    X, y = noisy(24, 2, seed=3)
    for tol in (1e-6, 0.2):
        run = column_generation(formulations.soft_margin(0.3), Pool(all_stumps(X)), y, tol=tol, master=Wrong)
        assert run.ending is Ending.VIOLATED
        assert run.certificate.gap < 0
        assert not run.certificate.proven
        assert not run.certificate.holds(tol)
    assert inf > run.certificate.primal


@pytest.mark.parametrize(
    ("conditions", "tol", "kept", "n_rounds"),
    [
        (("", "if small"), 0.1, (0.95, ""), 2),
        (("", "if small"), 0.02, (0.99, "if small"), 5),
        (("", "if small"), 0.001, (0.95, ""), 2),
        (("if small", ""), 0.1, (0.99, ""), 2),
        (("if small", ""), 0.001, (0.99, ""), 2),
        (("", ""), 0.1, (0.99, ""), 2),
    ],
)
def test_a_bound_under_no_condition_is_kept_but_for_one_within_the_tolerance(conditions, tol, kept, n_rounds):
    """The objective is 1, and the bounds are 0.95 and then 0.99: of these, one may be a bound on a condition.

    Where that is the best, there are some rounds more, in which it could be proven.
    """

    class Bounding(Scripted):
        bounds = chain((0.95,), repeat(0.99))

        def bound(self, solution, priced):
            return next(self.bounds)

    told = chain(conditions, repeat(conditions[1]))
    answer = Priced([Column(Tabulated(0, 1.0), TABLE, 1.0)], 1.0)
    master = Bounding(2 * S, free=True)
    *_, last = iterate(master, Fixed(TABLE, answer), condition=lambda *_: next(told), tol=tol)
    assert last.number == n_rounds
    assert (last.incumbent.bound, last.incumbent.condition) == kept


def test_a_set_with_copies_without_end_comes_to_an_end():
    thresholds = count(1.5, 2.0**-20)

    class Copies(Fixed):
        def price(self, s, exclude=()):
            return Priced([Column(Stump(1, next(thresholds), 1), TABLE, 1.0)], 1.0)

    (*_, last) = iterate(Scripted(2 * S, free=True), Copies(TABLE, None))
    assert last.number == 2
    assert len(last.columns) == 1
