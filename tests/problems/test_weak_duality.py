import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optimum_references import optimum
from problem_cases import CASES

from cvxens.certificates import certify

PROBLEMS = {name: case.problem() for name, case in CASES.items()}
RECOMPUTED = {"xi", "rho"}
named = pytest.mark.parametrize("name", CASES)


def numbers(largest):
    return st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-largest, largest))


def assert_encloses(certificate, name):
    """The optimum is between the two values: below the primal one of a minimum, above that of a maximum."""
    low, high = (certificate.dual, certificate.primal)[:: -1 if PROBLEMS[name].maximise else 1]
    slack = 1e-9 * abs(optimum(name))
    assert low - slack <= optimum(name) <= high + slack


def some_arrays(problem, largest):
    """Any of the problem's arrays, of any content."""
    drawn = {name: arrays(float, shape, elements=numbers(largest)) for name, shape in problem.shapes.items()}
    return st.fixed_dictionaries({}, optional=drawn).filter(bool)


@named
@given(data=st.data())
def test_any_arrays_enclose_the_optimum(name, data):
    problem = PROBLEMS[name]
    certificate = certify(problem, **data.draw(some_arrays(problem, 100.0)))
    assert certificate.gap >= 0
    assert_encloses(certificate, name)
    assert certificate.proven == np.isfinite(certificate.gap)
    assert all(value >= 0 for value in certificate.residuals.values())
    if certificate.proven:
        difference = certificate.dual - certificate.primal
        difference = difference if problem.maximise else -difference
        assert certificate.gap == pytest.approx(difference, rel=1e-12, abs=1e-12)


@named
@given(data=st.data())
def test_repaired_points_are_feasible_and_evaluate_as_in_plain_python(name, data):
    problem, case = PROBLEMS[name], CASES[name]
    point = data.draw(some_arrays(problem, 3.0))
    repaired = problem.repair(point)
    certificate = certify(problem, **point)
    if not certificate.proven:
        assert name in {"HardMarginBoosting", "RegularizedExpLoss"}
        assert certificate.primal == np.inf
        return
    size = 1 + max(float(np.abs(values).max()) for values in repaired.values())
    assert case.violation(repaired) <= 1e-10 * size
    assert certificate.primal == pytest.approx(case.primal(repaired), rel=1e-9, abs=1e-12 * size)
    assert certificate.dual == pytest.approx(case.dual(repaired), rel=1e-9, abs=1e-12 * size)


@named
@settings(max_examples=15)
@given(data=st.data(), size=st.sampled_from([1e-300, 1e-20, 1e20, 1e160, 1e300]))
def test_arrays_of_any_size_end_in_a_bound_or_without_a_proof(name, data, size):
    problem = PROBLEMS[name]
    point = data.draw(some_arrays(problem, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certificate = certify(problem, **{key: size * values for key, values in point.items()})
    assert not np.isnan(certificate.kkt_residual)
    if certificate.proven:
        assert_encloses(certificate, name)
    else:
        assert certificate.gap == np.inf
        assert not certificate.holds(1e300)


@named
def test_each_array_of_a_solution_alone_gives_an_enclosure(name):
    problem = CASES[name].problem()
    solution = problem.solve()
    for key, values in {**solution.variables, **solution.duals}.items():
        certificate = certify(problem, **{key: values})
        assert_encloses(certificate, name)
        assert key in RECOMPUTED or certificate.repair[key] < 1e-5
        assert all(moved == np.inf for other, moved in certificate.repair.items() if other != key)


@named
def test_a_point_moved_off_the_solution_shows_a_gap(name):
    problem = CASES[name].problem()
    solution = problem.solve()
    at_solution = problem.certify(solution)
    arrays = {**solution.variables, **solution.duals}
    for key in arrays.keys() - RECOMPUTED:
        values = arrays[key]
        moved = {key: values + 0.1 * (1 + np.arange(values.size).reshape(values.shape))}
        certificate = problem.certify(solution, **moved)
        assert certificate.gap >= at_solution.gap
        assert certificate.kkt_residual > 100 * at_solution.kkt_residual
