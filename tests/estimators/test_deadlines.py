"""Limits of time and Ctrl-C at any moment of a fit: it ends with a certified state that says so, or as it began.

Time is counted in looks at the clock, so that a limit passes at the same moment of a fit on any machine.
"""

import os
import signal
import warnings
from functools import cache
from itertools import count
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from estimator_samples import two_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import cvxens
from cvxens.colgen import Ending, Formulation, column_generation, formulations, masters, oracles
from cvxens.colgen.loop import _Columns
from cvxens.kernels import Gaussian
from cvxens.limits import Pace, TimeUp, check_time, in_time, interruptible, limit_time, time_is_up, time_left
from cvxens.problems.pair_losses import PairwiseHinge
from cvxens.problems.penalties import L1
from cvxens.solvers.additive import AdditiveKernel

X, Y = two_classes(60)
SIGNS = np.where(Y == "yes", 1.0, -1.0)

TIGHT = {"tol": 1e-9}

LIMITED = {
    "LPBoost": cvxens.LPBoostClassifier(nu=0.2, columns_per_round=1, **TIGHT),
    "LPBoost by cvxpy": cvxens.LPBoostClassifier(nu=0.2, solver="reference", columns_per_round=1, **TIGHT),
    "LPBoost of perceptrons": cvxens.LPBoostClassifier(oracle="perceptrons", nu=0.2, max_columns=100, random_state=0),
    "LPBoost of Fourier features": cvxens.LPBoostClassifier(oracle="fourier", nu=0.2, max_columns=100, random_state=0),
    "LPBoost of trees": cvxens.LPBoostClassifier(oracle="trees", nu=0.2, max_columns=5),
    "CGEns": cvxens.CGEnsClassifier(C=10.0, **TIGHT),
    "CGEns-SLS": cvxens.CGEnsSLSClassifier(**TIGHT),
    "logistic": cvxens.ColumnGenerationClassifier(**TIGHT),
    "MultiBoost": cvxens.MultiBoostClassifier(**TIGHT),
    "AdaBoost": cvxens.AdaBoostClassifier(n_rounds=50),
    "AdaBoost of trees": cvxens.AdaBoostClassifier(oracle="trees", n_rounds=5),
    "SVM, additive": cvxens.InfiniteEnsembleSVC(solver="additive", **TIGHT),
    "SVM, blockwise": cvxens.InfiniteEnsembleSVC("perceptron", C=10.0, solver="blockwise", **TIGHT),
    "SVM, cvxpy": cvxens.InfiniteEnsembleSVC(solver="reference", **TIGHT),
    "rho-SVM": cvxens.RhoSVC(**TIGHT),
    "RegAdaBoost": cvxens.RegAdaBoostClassifier(**TIGHT),
    "RegAdaBoost as printed": cvxens.RegAdaBoostClassifier(solver="boosting", tol=1e-2),
    "partial SVMs": cvxens.PartialSVMEnsembleClassifier(**TIGHT),
    "additive": cvxens.AdditiveClassifier(**TIGHT),
}


@pytest.fixture
def ticks(monkeypatch):
    """The clock advances by one with every look; at the look of this number comes Ctrl-C."""
    state = SimpleNamespace(looks=count(), interrupt_at=None)

    def look():
        now = next(state.looks)
        if now == state.interrupt_at:
            signal.raise_signal(signal.SIGINT)
        return float(now)

    monkeypatch.setattr(cvxens.limits, "time", SimpleNamespace(perf_counter=look))
    return state


def is_sound(model):
    """Whether the certificate is of a feasible point: weak duality holds, and so do the shapes of what is fitted."""
    certificate = model.certificate_
    assert certificate.gap >= 0
    assert len(model.decision_function(X)) == len(X)
    assert np.isfinite(model.decision_function(X)).all()
    assert len(model.dual_weights_) == len(X)
    return True


@pytest.mark.thinned(1, looks=[1, 3, 8, 30], name=list(LIMITED))
def test_whenever_time_is_up_there_is_a_certified_state(name, looks, ticks):
    model = clone(LIMITED[name]).set_params(max_time=float(looks))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, Y)
    assert is_sound(model)
    kept = getattr(model, "tol", np.inf)
    if not model.certificate_.holds(kept) and np.isfinite(kept):
        assert [word for word in map(str, (warning.message for warning in told)) if "tol is" in word]


OTHERS = {
    "side constraints": (cvxens.LPBoostClassifier(C=0.5, constraints=[cvxens.ClassLoss("yes", 0.5)], **TIGHT), Y),
    "equal means": (cvxens.CGEnsClassifier(C=1.0, constraints=[cvxens.EqualMeanScores(1, at_most=0.1)], **TIGHT), Y),
    "regression": (cvxens.LPBoostRegressor(**TIGHT), X[:, 0]),
    "regression machine": (cvxens.InfiniteEnsembleSVR("perceptron", **TIGHT), X[:, 0]),
    "ranking": (cvxens.LPBoostRanker(**TIGHT), X[:, 0].round()),
    "survival": (cvxens.ColumnGenerationSurvival(**TIGHT), np.exp(X[:, 0])),
    "budget": (cvxens.LPBoostClassifier(C=0.5, constraints=[cvxens.FeatureBudget(0.3)], **TIGHT), Y),
    "budget of pairs": (
        cvxens.LPBoostClassifier(C=0.5, oracle="pair_rules", constraints=[cvxens.FeatureBudget(0.3)]),
        Y,
    ),
    "forest": (cvxens.SupervisedKernelRLSClassifier(random_state=0), Y),
}
"""Of other targets, and under constraints, with targets."""

GROUPED = X.copy()
GROUPED[:, 1] = GROUPED[:, 1] > np.median(X[:, 1])


@pytest.mark.thinned(1, looks=[1, 3, 8, 30, 100, 200], name=list(OTHERS), interrupted=[False, True])
def test_whenever_time_is_up_there_is_a_model(name, looks, interrupted, ticks):
    model, target = OTHERS[name]
    model = clone(model)
    if interrupted:
        ticks.interrupt_at = looks
    elif name != "forest":
        model.set_params(max_time=float(looks))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            model.fit(GROUPED, target)
        except KeyboardInterrupt:
            # without a round or an update there is nothing to show
            assert name == "forest"
            return
    assert not model.certificate_.gap < 0
    assert len(model.predict(GROUPED)) == len(X)
    assert len(told) <= 1


NOISE = np.random.default_rng(0).normal(size=len(X))

EXPRESSIONS = {
    "pinball": Formulation(
        lambda f: cp.sum(cp.maximum(0.7 * (NOISE - f), 0.3 * (f - NOISE))), L1(1.0), scores=True, intercept=True
    ),
    "CVaR": Formulation(lambda z: cp.sum_largest(cp.pos(1 - z), 15), L1(1.0), intercept=True),
    "constrained": Formulation(
        lambda z: cp.sum(cp.logistic(-z)), L1(1.0), intercept=True, constraints=lambda z: [cp.abs(NOISE @ z) <= 1]
    ),
    "own variable": Formulation(lambda z: cp.sum(cp.pos(cp.Variable(name="k") - z)) + 2 * cp.norm1(z), L1(1.0)),
}


@cache
def optimum_of(name):
    formulation = EXPRESSIONS[name]
    return column_generation(formulation, oracles.Stumps(X), None if formulation.scores else SIGNS, tol=1e-6)


@pytest.mark.thinned(1, name=list(EXPRESSIONS), looks=[1, 4, 9, 20, 45, 90])
def test_a_run_of_an_expression_that_is_cut_tells_no_lie(name, looks, ticks):
    formulation = EXPRESSIONS[name]
    y = None if formulation.scores else SIGNS
    whole = optimum_of(name).certificate.primal
    ticks.looks = count()
    run = column_generation(formulation, oracles.Stumps(X), y, tol=1e-9, max_time=float(looks))
    assert not run.certificate.gap < 0
    slack = 1e-6 * abs(whole)
    assert run.certificate.dual - slack <= whole <= run.certificate.primal + slack
    assert np.isfinite(run.decision_function(X)).all()


def test_a_first_round_that_is_cut_keeps_its_solution():
    class Slow(oracles.Stumps):
        def price(self, s, /, exclude=(), **options):
            raise TimeUp

    run = column_generation(formulations.svm(1.0), Slow(X), SIGNS, max_time=1e3)
    assert run.ending is Ending.MAX_TIME
    start = formulations.svm(1.0).terms[0]
    assert run.certificate.primal == start.value(SIGNS * start.best_intercept(np.zeros(len(X)), SIGNS))


@pytest.mark.thinned(1, name=list(LIMITED), look=[1, 4, 20, 60])
def test_ctrl_c_at_any_moment_leaves_a_certified_state(name, look, ticks):
    ticks.interrupt_at = look
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        assert is_sound(clone(LIMITED[name]).fit(X, Y))
    # by then these have their first pivots
    assert look != 20 or name not in {"rho-SVM", "RegAdaBoost", "partial SVMs"} or "interrupted" in str(told[0].message)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.product(kind=[cvxens.LPBoostClassifier, cvxens.CGEnsClassifier, cvxens.InfiniteEnsembleSVC], times=[1, 2])
def test_ctrl_c_ends_all_problems_of_several_classes(kind, times, monkeypatch):
    solve, begun = kind._solve, []

    def interrupt(model, sample):
        begun.append(model)
        for _ in range(times if len(begun) == 2 else 0):
            os.kill(os.getpid(), signal.SIGINT)
        return solve(model, sample)

    monkeypatch.setattr(kind, "_solve", interrupt)
    once = pytest.warns(ConvergenceWarning, match="interrupted.* all 4 sub-problems.*: fit again")
    with once if times == 1 else pytest.raises(KeyboardInterrupt) as told:
        model = kind().fit(X, np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.5, 0.7])))
        first, *rest = (certificate.relative_gap for certificate in model.certificate_)
        assert 0 <= first <= 1e-3 < min(rest)
    assert times == 2 or len(told) == 1


def test_an_interrupt_that_one_problem_alone_has_seen_ends_all(monkeypatch):
    def interrupted(*given, **told):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(oracles.Stumps, "price", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted.* all 3 sub-problems.*: fit again"):
        cvxens.LPBoostClassifier().fit(X, np.digitize(X[:, 0], [-0.3, 0.3]))


def test_ctrl_c_before_a_fit_leaves_it_as_it_was(ticks):
    model, ticks.interrupt_at = cvxens.LPBoostClassifier(), 0
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert vars(model) == vars(cvxens.LPBoostClassifier())


@pytest.mark.parametrize("name", ["rho-SVM", "RegAdaBoost", "partial SVMs"])
def test_a_sample_is_sorted_once_before_the_steps(name, monkeypatch):
    sort, sorted_with = AdditiveKernel.from_kernel, []

    def note(kernel, X):
        sorted_with.append(time_left())
        return sort(kernel, X)

    monkeypatch.setattr(AdditiveKernel, "from_kernel", note)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clone(LIMITED[name]).set_params(max_time=1e-9).fit(X, Y)
    assert len(sorted_with) == 1


@pytest.mark.parametrize("limit", [5.0, 1e9])
def test_columns_to_begin_with_enter_as_far_as_there_is_time(limit, ticks):
    formulation, stumps = formulations.soft_margin(0.5), oracles.Stumps(X)
    hypotheses = [oracles.Stump(j, threshold, 1) for j in range(2) for threshold in np.unique(X[:, j])[1:20]]
    solution = masters.InteriorPointMaster(formulation, SIGNS).solve()
    with limit_time(limit):
        entered = [column.hypothesis for column in _Columns(stumps, solution).enter((), hypotheses, solution)]
    # the first ones, which are the heaviest
    assert entered == hypotheses[: len(entered)]
    assert 0 < len(entered) <= limit


@pytest.mark.parametrize(
    "estimator", [cvxens.RhoSVC(), cvxens.RegAdaBoostClassifier(), cvxens.PartialSVMEnsembleClassifier()]
)
def test_a_low_rank_that_leaves_out_too_much_is_told_of(estimator):
    # additive kernels are met whatever the rank, but by the ensemble
    estimator = clone(estimator).set_params(kernel=Gaussian(0.3))
    low = clone(estimator).set_params(max_rank=3)
    told = r"(relative gap is .*, tol is|too much of the exact one).*raise max_rank"
    with pytest.warns(ConvergenceWarning, match=told):
        low.fit(X, Y)
    assert not low.certificate_.holds(low.tol)
    whole = clone(estimator).fit(X, Y).certificate_
    # TK07's algorithm ends as printed, by its steps, and not by a gap
    assert whole.holds(low.tol) or isinstance(estimator, cvxens.PartialSVMEnsembleClassifier)


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("formulation", "master"),
    [
        (formulations.soft_margin(0.5), masters.InteriorPointMaster),
        (formulations.svm(1.0), masters.NewtonMaster),
        (formulations.exponential(len(X), 0.1), masters.NewtonMaster),
    ],
)
@pytest.mark.parametrize("looks", [4, 10, 25, 60, 150])
def test_a_master_that_is_cut_hands_over_a_feasible_point(formulation, master, looks, ticks):
    run = column_generation(formulation, oracles.Stumps(X), SIGNS, tol=1e-9, max_time=float(looks), master=master)
    whole = column_generation(formulation, oracles.Stumps(X), SIGNS, tol=1e-9, master=master)
    assert run.ending in {Ending.MAX_TIME, Ending.OPTIMAL}
    assert run.certificate.gap >= 0
    slack = 1e-8 * abs(whole.certificate.primal)
    assert run.certificate.dual - slack <= whole.certificate.primal <= run.certificate.primal + slack


def test_what_is_over_is_noted_all_around(ticks):
    with limit_time(np.inf) as outer, limit_time(3.0) as inner:
        while not time_is_up():
            assert not inner.cut
        assert inner.cut
        assert outer.cut
        with pytest.raises(TimeUp):
            check_time()
        with pytest.raises(TimeUp):
            list(in_time(range(3)))
        assert not Pace().allows_step()


def test_no_step_is_begun_that_might_take_longer_than_what_is_left(ticks):
    with limit_time(20.0):
        pace = Pace()
        steps = 0
        while pace.allows_step():
            steps += 1
            for _ in range(4):
                cvxens.limits.time.perf_counter()
        # every step takes six looks: four, and two of the pace's own
        assert steps == 3


def test_sums_over_pairs_look_at_the_clock():
    with limit_time(1e-9), pytest.raises(TimeUp):
        PairwiseHinge(SIGNS).value(NOISE)


def test_ctrl_c_without_a_limit_is_raised():
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise KeyboardInterrupt
