import pickle

import numpy as np
import pytest

from cvxens import errors
from cvxens.errors import (
    CvxensError,
    DataFileError,
    Infeasible,
    InvalidInput,
    NotSeparable,
    SolverFailed,
    SolverFallbackWarning,
    WorkersLost,
)
from cvxens.types import Attempt

ATTEMPTS = (Attempt("CLARABEL", "error", 0.1, "out of luck"), Attempt("SCS", "optimal_inaccurate", 0.2))
EXAMPLES = [
    InvalidInput("C", "found -1.0", "give a number above 0"),
    DataFileError("data.csv", "found no header", "write one"),
    NotSeparable(np.array([0.5, 0.5]), 1e-12),
    Infeasible(np.array([0.5, -0.5]), 1e-12, 0.01),
    SolverFailed(ATTEMPTS),
    WorkersLost("the client has left"),
]


class OfOnesOwn(CvxensError):
    """What a stranger derives, without parameters of its own."""


def test_there_is_one_hierarchy_and_an_example_of_each():
    raised = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)}
    assert raised - {CvxensError, SolverFallbackWarning} == {type(error) for error in EXAMPLES}
    assert all(isinstance(error, CvxensError) for error in EXAMPLES)
    assert issubclass(SolverFallbackWarning, UserWarning)


@pytest.mark.parametrize("error", [*EXAMPLES, CvxensError("all"), OfOnesOwn("one", 1)], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_all_survive_pickling_with_what_they_carry(error, protocol):
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__.keys() == error.__dict__.keys()
    for name, value in error.__dict__.items():
        np.testing.assert_array_equal(again.__dict__[name], value)


def test_invalid_input_is_a_value_error_that_names_argument_found_and_remedy():
    error = EXAMPLES[0]
    assert isinstance(error, ValueError)
    assert str(error) == "C: found -1.0; give a number above 0"
    assert (error.argument, error.found, error.remedy) == ("C", "found -1.0", "give a number above 0")
    assert isinstance(EXAMPLES[1], InvalidInput)


def test_not_separable_tells_what_it_proves():
    error = EXAMPLES[2]
    assert "largest edge is 1e-12" in str(error)
    assert "use SoftMarginBoosting, or add hypotheses" in str(error)
    np.testing.assert_array_equal(error.farkas, [0.5, 0.5])


def test_solver_failed_lists_every_attempt():
    error = SolverFailed(iter(ATTEMPTS))
    assert isinstance(error, RuntimeError)
    assert error.attempts == ATTEMPTS
    assert "[CLARABEL: error (out of luck); SCS: optimal_inaccurate]" in str(error)


def test_what_goes_names_the_new_way_where_it_was_called():
    def rename():
        errors.warn_of_change("old(x)", "new(x)", gone="2.0")

    with pytest.warns(FutureWarning, match=r"^old\(x\) goes in cvxens 2\.0: use new\(x\)$") as caught:
        rename()
    assert caught[0].filename == __file__
