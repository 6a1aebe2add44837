import numpy as np
import pytest
from problem_cases import ALPHA, CASES, RHO, H, K, N, q, y

from cvxens.errors import InvalidInput
from cvxens.problems import EntropyProjection, LPBoost, SVMPrimal

LOW, HIGH = float(q.min()), float(q.max())
SWEEPS = {
    **dict.fromkeys(("SVMPrimal", "SVMDual", "InfiniteSVM", "SLSSVM"), ("C", (0.1, 3.0, 0.02))),
    "SoftMarginBoosting": ("C", (0.3, 3.0, 0.02)),
    "LPBoost": ("D", (0.1, 0.5, 0.2)),
    "EntropyProjection": ("rho", (RHO, 0.9 * LOW + 0.1 * HIGH, 0.5 * LOW + 0.5 * HIGH)),
    "RegularizedExpLoss": ("lam", (0.1, 1.0, 0.01)),
    "RegularizedLeastSquares": ("gamma", (0.1, 2.0, 0.01)),
}
swept = pytest.mark.parametrize("name", SWEEPS)


@swept
def test_a_new_value_reuses_the_compiled_problem_and_equals_a_fresh_one(name):
    make, (parameter, values) = CASES[name].problem, SWEEPS[name]
    problem = make(values[0])
    problem.solve()
    modelled, compiled = problem.problem, problem.problem._cache.param_prog
    assert compiled is not None
    for value in values[1:]:
        setattr(problem, parameter, value)
        assert getattr(problem, parameter) == value
        solution, fresh = problem.solve(), make(value).solve()
        assert problem.problem is modelled
        assert problem.problem._cache.param_prog is compiled
        assert problem.problem.is_dcp(dpp=True)
        assert solution.objective == pytest.approx(fresh.objective, rel=1e-6)
        assert problem.certify(solution).relative_gap < 1e-5
        assert make(value).certify(solution) == problem.certify(solution)


@swept
def test_a_value_may_be_set_before_the_problem_is_modelled(name):
    make, (parameter, values) = CASES[name].problem, SWEEPS[name]
    problem = make(values[0])
    setattr(problem, parameter, values[1])
    assert problem.solve().objective == pytest.approx(make(values[1]).solve().objective, rel=1e-9)


BAD = [np.nan, np.inf, -np.inf, "1", None, True, [1.0], 1j, 10**400]


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, bad) for name in SWEEPS for bad in BAD + [0, -1.0, np.float64(-1e-300)] * (name != "EntropyProjection")],
)
def test_what_is_no_finite_number_is_refused_and_the_old_value_stays(name, bad):
    make, (parameter, values) = CASES[name].problem, SWEEPS[name]
    problem = make(values[0])
    before = problem.solve().objective
    for give in (lambda: make(bad), lambda: setattr(problem, parameter, bad)):
        with pytest.raises(InvalidInput) as caught:
            give()
        error = caught.value
        assert error.argument == parameter
        # one number for all is asked for, or one for each
        if np.ndim(bad) and error.found == f"found shape {np.shape(bad)}":
            assert error.remedy.startswith("give one number or")
        else:
            assert error.found == f"found {bad!r}"
            assert error.remedy == ("give a finite number" if parameter == "rho" else "give a finite number above 0")
    assert getattr(problem, parameter) == values[0]
    assert problem.solve().objective == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("number", [1, np.int64(2), np.float32(0.5)])
def test_any_kind_of_real_number_will_do(number):
    problem = SVMPrimal(H, y, number)
    assert float(number) == problem.C
    assert isinstance(problem.C, float)


def test_lpboost_is_bounded_from_one_over_n_on():
    problem = LPBoost(H, y, 1 / N)
    assert problem.solve().objective == pytest.approx((H.T @ y).max() / N, rel=1e-6)
    for bad in (0.99 / N, 1e-9):
        with pytest.raises(InvalidInput, match=f"D: found .* with {N} samples; give at least 1/n_samples"):
            problem.D = bad
        with pytest.raises(InvalidInput, match="unbounded"):
            LPBoost(H, y, bad)
    assert problem.D == 1 / N


@pytest.mark.parametrize("bad", [LOW, LOW - 1.0, HIGH, HIGH + 1.0])
def test_rho_is_strictly_between_the_extremes_of_q(bad):
    problem = EntropyProjection(K, y, ALPHA, RHO)
    with pytest.raises(InvalidInput, match="strictly between") as caught:
        problem.rho = bad
    assert caught.value.argument == "rho"
    assert problem.rho == RHO
    with pytest.raises(InvalidInput, match="strictly between"):
        EntropyProjection(K, y, ALPHA, bad)


def test_rho_has_no_upper_end_for_the_inequality():
    assert EntropyProjection(K, y, ALPHA, HIGH + 1.0, equality=False).solve().objective == pytest.approx(0, abs=1e-7)
    with pytest.raises(InvalidInput, match=r"strictly between .* and inf"):
        EntropyProjection(K, y, ALPHA, LOW, equality=False)
