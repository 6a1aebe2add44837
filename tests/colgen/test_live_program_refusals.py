"""What HiGHS does not take is told of as a failure of the solver."""

import numpy as np
import pytest

from cvxens.colgen.masters.linear_masters import LiveProgram
from cvxens.errors import SolverFailed


@pytest.mark.parametrize("number", [1e16, np.inf])
def test_coefficients_that_highs_does_not_take(number):
    program = LiveProgram(np.array([-1.0]), np.zeros(1), np.full(1, 9.0))
    with pytest.raises(SolverFailed, match="HiGHS: refused"):
        program.add_row(-np.inf, np.array([number]), 4.0)


def test_a_program_in_range():
    program = LiveProgram(np.array([-1.0]), np.zeros(1), np.full(1, 9.0))
    program.add_row(-np.inf, np.array([2.0]), 4.0)
    x, u = program.solve()
    assert (x[0], u[0]) == (2.0, -0.5)
