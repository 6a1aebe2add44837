"""Cox's partial likelihood: its values, slopes and curvature by definition, and the conjugate as an optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.problems.survival_losses import CoxPartialLikelihood
from cvxens.rounding import sum_error

SAMPLES = st.lists(
    st.tuples(st.integers(1, 5), st.booleans(), st.sampled_from([0.5, 1.0, 3.0]), st.floats(-20, 20)),
    min_size=1,
    max_size=9,
).filter(lambda rows: any(event for _, event, _, _ in rows))


def make(rows, C=0.3):
    """The loss of a sample, and scores."""
    times, events, weights, z = (np.array(part) for part in zip(*rows, strict=True))
    return CoxPartialLikelihood(times.astype(float), events, C, weights), z


@given(SAMPLES)
def test_values_slopes_and_curvature_are_those_of_the_definition(rows):
    loss, z = make(rows)

    def value(f):
        return 0.3 * sum(
            loss.weights[i] * (np.log(loss.weights @ (np.exp(f) * (loss.times >= loss.times[i]))) - f[i])
            for i in np.flatnonzero(loss.events)
        )

    scale = 1 + np.abs(loss.terms(z)).sum()
    assert loss.value(z) == pytest.approx(value(z), abs=1e-13 * scale)
    steps = 1e-4 * np.eye(len(z))
    slopes = [(value(z + e) - value(z - e)) / 2e-4 for e in steps]
    np.testing.assert_allclose(loss.multipliers(z), -np.array(slopes), atol=1e-7 * scale)
    curves = [(loss.multipliers(z - e) - loss.multipliers(z + e)) / 2e-4 for e in steps]
    np.testing.assert_allclose(loss.curve(z, np.eye(len(z))), curves, atol=1e-6 * scale)


def sizes(loss, z, u):
    """Return the sizes that the rounding errors of a value and of a dual value are shares of."""
    return (loss.rounding(z) + loss.dual_rounding(u)) / sum_error(len(z), 1.0)


@given(SAMPLES, st.data())
def test_no_point_is_below_the_conjugate_and_the_slopes_reach_it(rows, data):
    loss, z = make(rows)
    u = loss.repair(loss.multipliers(z), None)
    scale = sizes(loss, z, u)
    np.testing.assert_allclose(u, loss.multipliers(z), atol=1e-12)
    assert loss.value(z) + u @ loss.centre(z) == pytest.approx(loss.dual_value(u), abs=1e-14 * scale)
    other = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=len(z), max_size=len(z))))
    v = loss.repair(other, None)
    scale = sizes(loss, z, v) + np.abs(v) @ np.abs(z)
    assert loss.value(z) + v @ loss.centre(z) - loss.dual_value(v) >= -1e-14 * scale
    # feasible in real numbers: on the grid of the repair sums are exact
    assert loss.violation(v) == 0
    np.testing.assert_allclose(loss.repair(v, None), v, atol=1e-14)
