"""Runs that start with hypotheses: the same optimum, fewer rounds, and a certificate over the oracle's and these."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from brute_force import (
    PlainTable,
    Table,
    Tabulated,
    all_stumps,
    assert_optimum,
    linear_program,
    noisy,
    soft_minimum_program,
)
from hypothesis import given
from hypothesis import strategies as st

from cvxens.colgen import Column, Ending, Priced, column_generation, formulations, iterate
from cvxens.colgen.masters import HighsMaster, LeastSquaresMaster, NewtonMaster
from cvxens.colgen.oracles import Constant, Perceptrons, QuantileStumps, Stump, Stumps
from cvxens.errors import InvalidInput, NotSeparable
from cvxens.hypotheses import Perceptron
from cvxens.problems import SLSSVM, SVMPrimal

X, y = noisy(40, 3, seed=1)
H = all_stumps(X)
CODES = y[:, None]


@dataclass(frozen=True)
class Case:
    """A formulation, its labels, an exact master, and its optimum over columns and their negations."""

    formulation: object
    y: object
    master: object
    optimum: object


CASES = {
    "soft margin": Case(formulations.soft_margin(1.5), y, HighsMaster, lambda H: linear_program(H, y, slack=1.5)),
    "lpboost": Case(formulations.lpboost(0.1), y, HighsMaster, lambda H: soft_minimum_program(H, y, 0.1)),
    "svm": Case(
        formulations.svm(0.3), y, partial(NewtonMaster, share=0.0), lambda H: SVMPrimal(H, y, 0.3).solve().objective
    ),
    "least squares": Case(
        formulations.simplex_least_squares(CODES, 0.3),
        None,
        LeastSquaresMaster,
        lambda H: SLSSVM(H, CODES, 0.3).solve().objective,
    ),
}
OPTIMA = {name: case.optimum(H) for name, case in CASES.items()}
SQUARES = ["svm", "least squares"]


def solve(name, oracle, start=(), **options):
    case = CASES[name]
    return column_generation(case.formulation, oracle, case.y, **{"tol": 1e-8, "start": start, **options})


@given(
    st.sampled_from(list(CASES)),
    st.sampled_from([Table, PlainTable]),
    st.lists(st.tuples(st.integers(0, H.shape[1] - 1), st.sampled_from([1.0, -1.0])), max_size=30),
)
def test_from_any_hypotheses_of_the_oracle_the_same_optimum_is_reached(name, oracle, drawn):
    start = [Tabulated(index, sign) for index, sign in drawn]
    run = solve(name, oracle(H, 5), start)
    slack = 1e-6 * abs(OPTIMA[name])
    sense = CASES[name].formulation.sense
    assert sense * run.certificate.dual <= sense * OPTIMA[name] + slack
    assert sense * run.certificate.primal >= sense * OPTIMA[name] - slack
    # squares want all hypotheses, and an oracle that is deaf names the same ones over and over
    if oracle is Table or name not in SQUARES:
        assert run.certificate.holds(1e-8)
        assert run.ending is Ending.OPTIMAL


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "oracle", [Stumps, partial(Stumps, columns_per_round=2), partial(QuantileStumps, columns_per_round=5)]
)
def test_from_its_own_optimum_a_run_ends_at_once(name, oracle):
    whole = solve(name, oracle(X), master=CASES[name].master)
    again = solve(name, oracle(X), [c.hypothesis for c in whole.columns], master=CASES[name].master)
    assert_optimum(again, whole.certificate.primal, rel=1e-8, gap=1e-8)
    assert len(again.history) < len(whole.history)
    # multipliers of linear programs are not unique, those of squared penalties are: over the columns of the last
    # master, so without a last column that brought nothing but the bound
    if name in SQUARES and len(whole.columns) == whole.history[-1].size:
        assert len(again.history) == 1
        assert [c.hypothesis for c in again.columns] == [c.hypothesis for c in whole.columns]


@pytest.mark.parametrize("name", CASES)
def test_hypotheses_of_others_are_in_the_optimum_and_in_its_bound(name):
    others = [Perceptron((1.0, 1.0, 1.0), threshold, sign) for threshold in (9.5, 12.5) for sign in (1, -1)]
    union = CASES[name].optimum(np.column_stack([H, *(h(X) for h in others[::2])]))
    assert_optimum(solve(name, Stumps(X), others), union, gap=1e-8)
    assert CASES[name].formulation.sense * (OPTIMA[name] - union) > 1e-4 * abs(union)


@pytest.mark.parametrize("name", CASES)
def test_other_names_for_the_oracles_hypotheses_do_not_halve_squares(name):
    moved = [Stump(c.hypothesis.feature, c.hypothesis.threshold + 0.3, c.hypothesis.sign) for c in tidy(name)]
    beyond = [Stump(0, -5.0, 1), Stump(1, 99.0, 1), Constant(-1)]
    run = solve(name, Stumps(X), [*moved, *beyond, *(replace(h, threshold=h.threshold + 0.1) for h in moved)])
    assert_optimum(run, OPTIMA[name], gap=1e-8)


@pytest.mark.parametrize("name", SQUARES)
def test_what_an_oracle_does_not_say_it_has_counts_beside_its_set(name):
    """A stump of quantiles under another threshold is a second one, which halves its square, in the bound too."""
    moved = [Stump(c.hypothesis.feature, c.hypothesis.threshold + 0.3, c.hypothesis.sign) for c in tidy(name)]
    distinct = {h(X).tobytes(): h for h in moved}.values()
    twice = CASES[name].optimum(np.column_stack([H, *(h(X) for h in distinct)]))
    assert_optimum(solve(name, QuantileStumps(X), moved), twice, gap=1e-8)


def tidy(name):
    return [c for c in solve(name, Stumps(X)).columns if isinstance(c.hypothesis, Stump)]


def test_the_start_enters_before_the_first_round():
    start = [Tabulated(3, -1.0), Tabulated(7, 1.0), Tabulated(3, 1.0)]
    for master, entered in (
        (HighsMaster(formulations.soft_margin(0.4), y), start),
        (NewtonMaster(formulations.svm(0.3), y), start[:2]),
    ):
        steps = iterate(master, Table(H, 4), start)
        assert [c.hypothesis for c in next(steps).columns] == entered


def test_what_has_come_with_the_start_is_left_out_from_the_first_question_on():
    told = []

    class Listening(Table):
        def price(self, s, exclude=()):
            told.append({h.index for h in exclude})
            return super().price(s, exclude)

    start = [Tabulated(index, 1.0) for index in range(H.shape[1])]
    run = solve("least squares", Listening(H, 9), start)
    assert len(run.history) == 1
    assert told == [set(range(H.shape[1]))]


def test_hard_margins_start_from_columns_that_separate_and_from_others():
    easy = np.where(X[:, 0] - 3 * (X[:, 1] > 4) > 2.5, 1.0, -1.0)
    whole = column_generation(formulations.hard_margin(), Stumps(X), easy, tol=1e-8)
    for start in ([c.hypothesis for c in whole.columns], [Constant(1)], [Stump(2, 3.5, 1), Stump(2, 3.5, -1)]):
        run = column_generation(formulations.hard_margin(), Stumps(X), easy, tol=1e-8, start=start)
        assert run.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)
    twins, labels = np.vstack([X, X[:1]]), np.append(easy, -easy[0])
    with pytest.raises(NotSeparable) as raised:
        column_generation(formulations.hard_margin(), Stumps(twins), labels, start=[Constant(1), Stump(0, 4.5, 1)])
    assert np.abs(all_stumps(twins).T @ (labels * raised.value.farkas)).max() <= 1e-6


def test_under_a_heuristic_oracle_a_run_goes_on_from_where_it_was():
    def oracle(seed):
        return Perceptrons(X, n_directions=10, refined=1, epochs=5, random_state=seed)

    first = solve("soft margin", oracle(0), max_columns=20)
    second = solve("soft margin", oracle(1), [c.hypothesis for c in first.columns], max_columns=60)
    assert second.history[0].objective == pytest.approx(first.certificate.primal, rel=1e-9)
    assert second.certificate.primal < first.certificate.primal
    assert not second.certificate.proven


def test_an_oracle_without_a_sample_is_refused():
    class Nothing:
        def price(self, s, exclude=()):
            return Priced([], 0.0, 0.0)

    with pytest.raises(InvalidInput, match=r"^oracle: found .* without sample; give an object with price and sample"):
        column_generation(formulations.soft_margin(0.4), Nothing(), y, start=[Constant(1)])
    oracle = Nothing()
    oracle.sample = X
    run = column_generation(formulations.soft_margin(0.4), oracle, y, start=[Constant(1)])
    assert (run.ending, len(run.columns)) == (Ending.OPTIMAL, 1)


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ([Stump(9, 0.5, 1)], r"found x\[9\] >= 0.5 -> \+1, which the oracle's sample cannot be given to: index 9"),
        ([np.ravel], "found .*, with values of shape"),
        ([Constant(1), lambda X: np.full(len(X), np.nan)], "found .*, with values of shape .* or not finite"),
        ([Column(Constant(1), X, 0.0)], r"found Column\([\s\S]*; give hypotheses: functions of samples"),
        (["stump"], "found 'stump'"),
        (3, "found 3"),
        ([[1.0]], "give hashable hypotheses"),
    ],
)
def test_what_cannot_be_started_from_is_named(start, found):
    with pytest.raises(InvalidInput, match=f"^start: .*{found}"):
        column_generation(formulations.soft_margin(0.4), Stumps(X), y, start=start)
