"""The loop with fakes: a textbook's cutting-stock problem number by number, and what the loop promises."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

import numpy as np
import pytest
from brute_force import PlainTable, Table, Tabulated, all_stumps, noisy
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import Column, MasterSolution, Priced, column_generation, formulations, iterate
from cvxens.colgen.oracles import SklearnLearner
from cvxens.errors import InvalidInput
from cvxens.problems import SLSSVM, SVMPrimal

LENGTHS, DEMAND, BOARD = np.array([3, 5, 9]), np.array([25.0, 20.0, 15.0]), 17


@dataclass(frozen=True)
class Pattern:
    """A way to cut a board: how many pieces of each length."""

    pieces: tuple[int, ...]

    def __call__(self, X):
        return np.array(self.pieces, float)


class Boards:
    """Fewest boards that meet the demand with the patterns so far, started from one pattern per length."""

    def __init__(self):
        self.patterns = [(5, 0, 0), (0, 3, 0), (0, 0, 1)]
        self.calls = []

    def add(self, columns):
        self.calls.append(("add", [column.hypothesis.pieces for column in columns]))
        self.patterns += [column.hypothesis.pieces for column in columns]

    def solve(self):
        self.calls.append(("solve", len(self.patterns)))
        answer = linprog(np.ones(len(self.patterns)), A_ub=-np.array(self.patterns).T, b_ub=-DEMAND, method="highs")
        u = -answer.ineqlin.marginals
        return MasterSolution(answer.x, np.zeros(()), u, u, answer.fun, 1 + 1e-9)

    def bound(self, solution, priced):
        return solution.objective / max(1.0, priced.edge_bound)


class Knapsack:
    """The most valuable pattern that fits on a board, by trying all."""

    sample = None

    def price(self, s, exclude=()):
        patterns = [p for p in product(range(6), range(4), range(2)) if LENGTHS @ p <= BOARD]
        best = max(patterns, key=lambda p: s @ p)
        return Priced([Column(Pattern(best), None, float(s @ best))], float(s @ best))


WOODCO = [
    (("1/5", "1/3", "1"), "80/3", "23/15", (1, 1, 1)),
    (("1/5", "1/3", "7/15"), "56/3", "17/15", (4, 1, 0)),
    (("1/6", "1/3", "1/2"), "55/3", "1", None),
]
"""Winston, Operations Research, column generation: 25 pieces of 3 feet, 20 of 5, 15 of 9 from boards of 17.

By round: shadow prices, boards, value of the best pattern, the pattern that enters.
"""


def test_the_textbooks_cutting_stock_problem_step_by_step():
    master = Boards()
    steps = list(iterate(master, Knapsack()))
    assert len(steps) == len(WOODCO)
    for step, (prices, boards, value, pattern) in zip(steps, WOODCO, strict=True):
        assert_allclose(step.solution.u, [float(Fraction(p)) for p in prices], atol=1e-12)
        assert step.solution.objective == pytest.approx(float(Fraction(boards)), abs=1e-12)
        assert step.priced.best_edge == pytest.approx(float(Fraction(value)), abs=1e-12)
        assert step.bound == pytest.approx(float(Fraction(boards) / Fraction(value)), abs=1e-12)
        assert step.bound <= 55 / 3 + 1e-12 <= step.solution.objective + 2e-12
        if pattern is not None:
            assert step.priced.columns[0].hypothesis.pieces == pattern
    assert_allclose(steps[-1].solution.w, [0, 5 / 6, 0, 15, 5 / 2], atol=1e-12)
    assert [c.hypothesis.pieces for c in steps[-1].columns] == [(1, 1, 1), (4, 1, 0)]
    assert master.calls == [("solve", 3), ("add", [(1, 1, 1)]), ("solve", 4), ("add", [(4, 1, 0)]), ("solve", 5)]


class Scripted:
    """A master whose multipliers and closed columns follow a script; it records what it is given."""

    def __init__(self, *script, threshold=0.5):
        self.script, self.threshold = iter(script), threshold
        self.added = []

    def add(self, columns):
        self.added.append([column.hypothesis for column in columns])

    def solve(self):
        s, closed = next(self.script)
        none = np.zeros(())
        return MasterSolution(none, none, np.abs(s), s, 1.0, self.threshold, None if closed is None else closed)

    def bound(self, solution, priced):
        return priced.edge_bound


class Told:
    """An oracle that answers from a script and records what it is told to leave out."""

    sample, negations = None, True

    def __init__(self, *answers):
        self.answers, self.told = iter(answers), []

    def price(self, s, exclude=()):
        self.told.append(list(exclude))
        return next(self.answers)


TABLE = np.array([[1.0, 1.0, 1.0, -1.0], [1.0, -1.0, 1.0, 0.0]])
S = np.array([1.0, 1.0])


def column(index, edge, sign=1.0):
    return Column(Tabulated(index, sign), TABLE, edge)


def test_a_step_is_yielded_before_its_columns_are_added():
    master = Scripted((S, None), (S, None))
    steps = iterate(master, Told(Priced([column(0, 1.0)]), Priced([])))
    first = next(steps)
    assert (first.columns, master.added) == ((), [])
    second = next(steps)
    assert [c.hypothesis for c in second.columns] == [Tabulated(0, 1.0)]
    assert master.added == [[Tabulated(0, 1.0)]]
    assert list(steps) == []


def test_it_ends_when_no_edge_exceeds_the_threshold():
    for answer in (Priced([]), Priced([column(0, 0.5), column(1, 0.2)])):
        master = Scripted((S, None))
        (step,) = iterate(master, Told(answer))
        assert master.added == []
        assert step.priced is answer


@pytest.mark.parametrize("bounds", [(), (9.0, 9.0, 9.0)])
def test_no_hypothesis_is_added_twice(bounds):
    again = [column(0, 2.0), column(0, 1.0), column(1, 0.9), column(3, 0.1)]
    master = Scripted((S, None), (S, None), (S, None))
    steps = list(iterate(master, Told(*(Priced(answer, *bounds) for answer in (again[:2], again, again)))))
    assert master.added == [[Tabulated(0, 1.0)], [Tabulated(1, 1.0)]]
    assert len(steps) == 3


def test_an_oracle_is_told_what_is_closed():
    oracle = Told(*(Priced([column(j, 1.0)], outside_bound=9.0) for j in range(3)), Priced([]))
    master = Scripted((S, None), (S, None), (S, np.array([False, True])), (S, np.array([False, False, False])))
    list(iterate(master, oracle))
    first, second = Tabulated(0, 1.0), Tabulated(1, 1.0)
    assert oracle.told == [[], [first], [second], []]


def test_what_equals_a_column_inside_is_not_taken_unless_the_answer_bounds_what_is_outside():
    free = S, None
    for closed, expected in ((None, [1.0]), (np.array([False]), [1.0, -1.0])):
        master = Scripted(free, (S, closed), (S, np.array([False, False])))
        list(iterate(master, Told(*(Priced([column(j, 1.0, sign)]) for j, sign in ((0, 1.0), (0, -1.0), (2, 1.0))))))
        assert [h.sign for added in master.added for h in added] == expected
    told = Scripted(free, free, free)
    list(iterate(told, Told(*(Priced([column(j, 1.0)], outside_bound=9.0) for j in (0, 2)), Priced([]))))
    assert [h.index for added in told.added for h in added] == [0, 2]


def test_what_equals_a_column_of_a_bounded_answer_is_not_taken_from_one_without():
    master = Scripted(*3 * [(S, None)])
    list(iterate(master, Told(Priced([column(0, 1.0)], outside_bound=9.0), Priced([column(2, 1.0)]))))
    assert [h.index for added in master.added for h in added] == [0]


def test_an_oracle_whose_price_does_not_take_exclude_is_refused():
    class Old(PlainTable):
        def price(self, s):
            return self._priced(s, ())

    class Failing(PlainTable):
        def price(self, s, exclude=()):
            return len(3)

    with pytest.raises(InvalidInput, match=r"^oracle: found .*Old which says: .*unexpected keyword argument 'exclude'"):
        next(iterate(Scripted((S, None)), Old(TABLE)))
    with pytest.raises(TypeError, match="has no len"):
        next(iterate(Scripted((S, None)), Failing(TABLE)))
    for wrong in (lambda X: [1.0], lambda X: np.full(len(X), np.nan), []):
        with pytest.raises(InvalidInput, match=r"^oracle: found .*; give ones that hash, of samples like its own"):
            list(iterate(Scripted((S, None)), Told(Priced([Column(wrong, TABLE, 9.0)], outside_bound=9.0))))


def test_the_caller_may_stop_at_any_step():
    master = Boards()
    assert len(list(islice(iterate(master, Knapsack()), 2))) == 2
    assert master.calls[-1] == ("solve", 4)


def test_steps_are_timed():
    for step in iterate(Boards(), Knapsack()):
        assert step.master_seconds > 0
        assert step.pricing_seconds > 0


@pytest.mark.product(seed=range(4), oracle=[PlainTable, Table])
def test_squares_are_never_halved_by_a_hypothesis_and_its_negation(oracle, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    y = np.sign(X @ [1, 0.7] + 0.3 * rng.normal(size=20))
    y[:2] = 1.0, -1.0
    H, L = all_stumps(X), y[:, None]
    for formulation, labels, reference in (
        (formulations.svm(1.0), y, SVMPrimal(H, y, 1.0)),
        (formulations.simplex_least_squares(L, 1.0), None, SLSSVM(H, L, 1.0)),
    ):
        optimum = reference.solve().objective
        run = column_generation(formulation, oracle(H), labels, tol=1e-7)
        used = [c.hypothesis.index for c in run.columns]
        assert len(used) == len(set(used))
        assert run.certificate.primal >= optimum * (1 - 1e-8)
        assert run.certificate.dual <= optimum * (1 + 1e-8)
        assert run.certificate.holds(1e-7) or oracle is PlainTable


def test_a_learner_that_repeats_itself_does_not_run_for_ever():
    X, y = noisy()
    learner = SklearnLearner(DecisionTreeClassifier(max_depth=1, random_state=0), X)
    for formulation in (formulations.svm(1.0), formulations.soft_margin(0.37), formulations.lpboost(3.7 / len(y))):
        run = column_generation(formulation, learner, y)
        values = {tuple(c.values) for c in run.columns}
        assert run.ending.name == "EXHAUSTED"
        assert len(values) == len(run.columns)
        assert not run.certificate.proven
