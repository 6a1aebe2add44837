"""Bad input: one clear error that names the argument, what was found and what to do."""

import numpy as np
import pytest
from brute_force import refused

from cvxens import problems, validation
from cvxens.certificates import certify
from cvxens.colgen import formulations
from cvxens.errors import InvalidInput
from cvxens.kernels import Perceptron, SimplifiedStump, Stump
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import MulticlassExponential
from cvxens.problems.penalties import L1
from cvxens.problems.survival_losses import CoxPartialLikelihood
from cvxens.problems.target_losses import AbsoluteError, Deviance, EpsilonInsensitive, HuberError, Pinball

X = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [2.0, 0.5]])
y = np.array([1.0, -1.0, 1.0, -1.0])
H = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, -1.0]])
K = H @ H.T + np.eye(4)
uniform = np.full(4, 0.25)
L = problems.simplex_codes(3)[[0, 1, 2, 0]]

OVER_COLUMNS = {
    "SVMPrimal": lambda H=H, y=y: problems.SVMPrimal(H, y, 1.0),
    "HardMarginBoosting": lambda H=H, y=y: problems.HardMarginBoosting(H, y),
    "SoftMarginBoosting": lambda H=H, y=y: problems.SoftMarginBoosting(H, y, 1.0),
    "InfiniteSVM": lambda H=H, y=y: problems.InfiniteSVM(H, y, 1.0),
    "LPBoost": lambda H=H, y=y: problems.LPBoost(H, y, 1.0),
}
OVER_KERNELS = {
    "SVMDual": lambda K=K, y=y: problems.SVMDual(K, y, 1.0),
    "RhoSVM": lambda K=K, y=y: problems.RhoSVM(K, y),
    "EntropyProjection": lambda K=K, y=y: problems.EntropyProjection(K, y, uniform, 1.0),
    "RegularizedExpLoss": lambda K=K, y=y: problems.RegularizedExpLoss(K, y, 1.0),
}
RIDGE = {"RegularizedLeastSquares": lambda K=K, y=y: problems.RegularizedLeastSquares(K, y, 1.0)}
CONVEX = {name: make for name, make in (OVER_KERNELS | RIDGE).items() if name != "EntropyProjection"}


def with_entry(array, value):
    changed = np.array(array, dtype=float)
    changed[(1,) * changed.ndim] = value
    return changed


LABELS = [
    ([1.0, 1.0, 1.0, 1.0], "found one class only, 1", "both classes"),
    ([-1.0] * 4, "found one class only, -1", "both classes"),
    ([0.0, 1.0, 0.0, 1.0], "found the labels {0, 1}", "-1 and +1"),
    ([1.0, 2.0, 3.0, 1.0], "found the labels {1, 2, 3}", "-1 and +1"),
    ([1.0, -1.0, 0.0, 1.0], "found the labels {-1, 0, 1}", "-1 and +1"),
    ([1.0, -1.0, np.nan, 1.0], "found nan at [2]", "remove or impute"),
    ([1.0, -1.0, np.inf, 1.0], "found inf at [2]", "remove or impute"),
    ([], "found no data, shape (0,)", "at least one"),
    ([1.0], "found one class only, 1", "both classes"),
    ([[1.0, -1.0], [1.0, -1.0]], "found 2 dimensions, shape (2, 2)", "1 dimensions"),
    (1.0, "found 0 dimensions, shape ()", "1 dimensions"),
    (range(9), "found the labels {0, 1, 2, 3, 4, ...}", "-1 and +1"),
    ([True, False], "found the labels {0, 1}", "-1 and +1"),
    (["a", "b", "a", "b"], "not numeric", "array of numbers"),
    (None, "found", "array"),
]


@pytest.mark.parametrize("make", [validation.signs, *(OVER_COLUMNS | OVER_KERNELS).values()])
@pytest.mark.parametrize(("labels", "found", "remedy"), LABELS)
def test_labels_that_are_not_two_classes(make, labels, found, remedy):
    refused(lambda: make(y=labels), "y", found, remedy)


@pytest.mark.product(bad=[np.nan, np.inf, -np.inf], name=OVER_COLUMNS)
def test_hypotheses_with_nan_or_infinity(name, bad):
    refused(lambda: OVER_COLUMNS[name](H=with_entry(H, bad)), "H", f"found {bad} at [1, 1]")


@pytest.mark.parametrize("name", OVER_COLUMNS)
@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (H[:3], "found 3 rows for 4 labels"),
        (H[:1], "found 1 rows for 4 labels"),
        (np.empty((4, 0)), "found no data, shape (4, 0)"),
        (np.empty((0, 3)), "found no data, shape (0, 3)"),
        (y, "found 1 dimensions"),
        ([[1.0], [1.0, 2.0], [0.0], [1.0]], "not numeric"),
        (H + 1j, "not numeric (complex numbers)"),
        ([[10**400]] * 4, "not numeric"),
    ],
)
def test_hypotheses_that_are_no_matrix_of_the_samples(name, columns, found):
    refused(lambda: OVER_COLUMNS[name](H=columns), "H", found)


@pytest.mark.parametrize("sample", [X[:1], np.ones((4, 2)), X[[1, 1, 1, 1]], with_entry(X, np.nan), X[:0], X[:, 0]])
@pytest.mark.parametrize(
    "make",
    [
        lambda X: problems.StumpColumns(np.asarray(X)).shape,
        lambda X: problems.SVMPrimal(problems.StumpColumns(X), y, 1.0).solve(),
        lambda X: Stump().cells(X),
    ],
)
def test_samples_without_stumps(make, sample):
    refused(lambda: make(sample), "X")


@pytest.mark.parametrize("name", OVER_COLUMNS)
def test_stumps_on_another_number_of_samples(name):
    refused(lambda: OVER_COLUMNS[name](H=problems.StumpColumns(X[:3])), "H", "found 3 rows for 4 labels")


@pytest.mark.parametrize("name", OVER_KERNELS | RIDGE)
@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        (K[:3], "found shape (3, 4)"),
        (K[:3, :3], "found 3 rows for 4 samples"),
        (K + np.triu(np.ones((4, 4)), 1), "found |K - K'| up to 1"),
        (with_entry(K, np.nan), "found nan at [1, 1]"),
        (with_entry(K, -np.inf), "found -inf at [1, 1]"),
        (np.empty((0, 0)), "found no data"),
        (y, "found 1 dimensions"),
        (K + 1j, "complex"),
    ],
)
def test_kernels_that_are_no_symmetric_matrix_of_the_samples(name, kernel, found):
    refused(lambda: (OVER_KERNELS | RIDGE)[name](K=kernel), "K", found)


@pytest.mark.parametrize("name", CONVEX)
def test_kernels_that_are_indefinite(name):
    error = refused(lambda: CONVEX[name](K=K - 30 * np.diag([1.0, 1.0, 0.0, 0.0])), "K", "found the eigenvalue -")
    assert "PSD" in error.found + error.remedy


@pytest.mark.parametrize("kernel", [SimplifiedStump()(X), Perceptron()(X) - 50.0])
def test_a_conditionally_psd_kernel_is_for_the_svm_alone(kernel):
    assert problems.SVMDual(kernel, y, 1.0).solve().status == "optimal"
    for name in CONVEX.keys() - {"SVMDual"}:
        refused(lambda name=name: CONVEX[name](K=kernel), "K", remedy="constant")
    refused(lambda: problems.SVMDual(-kernel, y, 1.0), found="not even conditionally PSD")


def test_kernels_that_are_singular_or_zero_are_psd():
    assert problems.RhoSVM(np.ones((4, 4)), y).solve().objective == pytest.approx(0, abs=1e-7)
    assert problems.RegularizedLeastSquares(np.zeros((4, 4)), y, 1.0).solve().objective == pytest.approx(1.0)
    assert problems.SVMDual(np.zeros((4, 4)), y, 1.0).solve().objective == pytest.approx(-4.0)
    assert problems.RegularizedExpLoss(np.zeros((4, 4)), y, 1.0).solve().objective == pytest.approx(1.0)
    rounded = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]) / 3
    assert problems.SVMDual(rounded + 1e-15 * np.eye(4)[::-1], y, 1.0).solve().status == "optimal"


def test_all_samples_alike_leave_the_intercept_to_decide():
    alike = np.ones((4, 3))
    for problem in (problems.SVMPrimal(alike, y, 1.0), problems.SVMDual(alike @ alike.T, y, 1.0)):
        certificate = problem.certify(problem.solve())
        assert certificate.holds(1e-6)
        assert abs(certificate.primal) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("alpha_t", "found"),
    [
        ([0.5, 0.5, 0.0, 0.0], "smallest entry of 0"),
        ([0.6, 0.6, -0.1, -0.1], "smallest entry of -0.1"),
        ([0.5, 0.5, 0.5, 0.5], "sum of 2"),
        (uniform * (1 + 1e-8), "sum of 1.00000001"),
        (uniform[:3], "found 3 rows for 4 samples"),
        ([uniform], "found 2 dimensions"),
        (with_entry(uniform, np.nan), "found nan at [1]"),
    ],
)
def test_a_point_to_project_that_is_not_inside_the_simplex(alpha_t, found):
    refused(lambda: problems.EntropyProjection(K, y, alpha_t, 1.0), "alpha_t", found)


@pytest.mark.parametrize("rho", [-1e9, 1e9, np.nan, "1", None])
def test_a_margin_that_cannot_be_reached(rho):
    refused(lambda: problems.EntropyProjection(K, y, uniform, rho), "rho")


def test_an_entropy_problem_without_any_margin():
    refused(lambda: problems.EntropyProjection(np.zeros((4, 4)), y, uniform, 0.0), "rho")
    slack = problems.EntropyProjection(np.zeros((4, 4)), y, uniform, 1.0, equality=False)
    assert slack.certify(alpha=uniform, eta=0.0).holds(1e-6)


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        (np.eye(3)[[0, 1, 2, 0]], "not simplex codes"),
        (2 * L, "not simplex codes"),
        (np.arange(4.0), "not simplex codes"),
        (problems.simplex_codes(3)[[0, 0, 0, 0]], "found one class only"),
        (np.ones(4), "found one class only"),
        (with_entry(L, np.nan), "found nan at [1, 1]"),
        (L[:3], "found 4 rows for 3 labels"),
        (np.ones((2, 2, 2)), "found 3 dimensions"),
        ([], "found no data"),
        (["a", "b"], "not numeric"),
    ],
)
def test_labels_that_are_no_simplex_codes(codes, found):
    assert refused(lambda: problems.SLSSVM(H, codes, 1.0), found=found).argument in {"L", "H"}


def test_some_of_the_classes_may_be_missing_in_simplex_codes():
    codes = problems.simplex_codes(4)[[0, 2, 0, 2]]
    assert problems.SLSSVM(H, codes, 1.0).solve().status == "optimal"


@pytest.mark.parametrize("n_classes", [1, 0, -3])
def test_simplex_codes_need_two_classes(n_classes):
    refused(lambda: problems.simplex_codes(n_classes), "n_classes")


CLASSES = MulticlassExponential(1.0, np.array([0, 1, 2, 1]), 3)
NO_PRICES = [np.zeros(4), np.r_[-1.0, np.ones(3)], np.ones((4, 1)), np.full(4, np.nan)]
NO_WEIGHTS = [*NO_PRICES, np.ones(3), ["a"] * 4]
CALLS = [
    (lambda: AbsoluteError([[1.0]]), "t", "found 2 dimensions"),
    (lambda: AbsoluteError([1.0, np.nan]), "t", "found nan"),
    (lambda: AbsoluteError([1.0, 2.0], C=0.0), "C", "found 0.0"),
    (lambda: AbsoluteError([1.0, 2.0], C=[1.0]), "C", "found 1 rows for 2 samples"),
    (lambda: Pinball([1.0], q=1.0), "q", "found 1.0", "give the level of a quantile"),
    (lambda: EpsilonInsensitive([1.0], epsilon=-1.0), "epsilon", "found -1.0"),
    (lambda: HuberError([1.0], delta=0.0), "delta", "found 0.0"),
    (lambda: HuberError([1.0], q=1.0), "q", "found 1.0", "give the level of a quantile"),
    (lambda: Deviance([1.0, -1.0]), "t", "found -1, the least"),
    (lambda: Deviance([0.0, 0.0]), "t", "found nothing but 0"),
    (lambda: Deviance([0.0, 1.0], 2), "t", "found 0, the least"),
    (lambda: Deviance([1.0, 2.0], 0.5), "power", "found 0.5"),
    *(
        (lambda events=events: CoxPartialLikelihood([1.0, 2.0], events), "events")
        for events in ([False] * 2, [1.0, 0.0])
    ),
    *(
        (lambda labels=labels: formulations.multiboost(1.0, np.array(labels)), "labels")
        for labels in ([0, 0], [1, 2], [0, 2], [-1, 0], [0.5, 1.0])
    ),
    (
        lambda: problems.Problem(Formulation(CLASSES, L1(), intercept=True, outputs=3), np.ones((4, 2))),
        "intercept",
        "found True with MulticlassExponential",
    ),
    *((lambda bad=bad: problems.SLSSVM(H, L, 1.0, bad), "sample_weight") for bad in NO_WEIGHTS),
    *((lambda bad=bad: formulations.simplex_least_squares(L, bad), "C") for bad in (*NO_WEIGHTS, np.inf)),
    *((lambda bad=bad: formulations.svm(bad), "C") for bad in NO_PRICES),
    *((lambda bad=bad: formulations.soft_margin(bad), "C") for bad in NO_PRICES),
    *((lambda bad=bad: formulations.lpboost(bad), "D") for bad in NO_PRICES),
    *(
        (lambda name=name: problems.SVMPrimal(H, y, 1.0).solve(name), "solver", "", "CLARABEL")
        for name in ("NOPE", "", 3, ["ECOS"])
    ),
]


@pytest.mark.parametrize("row", CALLS)
def test_targets_prices_and_names_that_cannot_be(row):
    refused(*row)


SHAPES = [
    (problems.SVMPrimal(H, y, 1.0), {"w": (3,), "b": (), "xi": (4,), "u": (4,)}),
    (problems.SVMDual(K, y, 1.0), {"u": (4,), "b": ()}),
    (problems.HardMarginBoosting(H, y), {"w": (3,), "u": (4,)}),
    (problems.SoftMarginBoosting(H, y, 1.0), {"w": (3,), "xi": (4,), "u": (4,)}),
    (problems.InfiniteSVM(H, y, 1.0), {"w": (3,), "b": (), "xi": (4,), "u": (4,)}),
    (problems.LPBoost(H, y, 1.0), {"a": (3,), "rho": (), "xi": (4,), "u": (4,)}),
    (problems.RhoSVM(K, y), {"c": (4,), "rho": (), "u": (4,)}),
    (problems.EntropyProjection(K, y, uniform, 1.0), {"alpha": (4,), "eta": ()}),
    (problems.RegularizedExpLoss(K, y, 1.0), {"eta": (4,), "u": (4,)}),
    (problems.SLSSVM(H, L, 1.0), {"W": (3, 2), "b": (2,), "U": (4, 2)}),
    (problems.RegularizedLeastSquares(K, y, 1.0), {"c": (4,), "s": (4,)}),
]
shaped = pytest.mark.parametrize(("problem", "shapes"), SHAPES, ids=[type(p).__name__ for p, _ in SHAPES])


@shaped
def test_arrays_of_the_wrong_shape(problem, shapes):
    assert list(problem.shapes) == list(shapes)
    for name, shape in shapes.items():
        longer = tuple(length + 1 for length in shape or (1,))
        for wrong in (np.ones(7), np.ones((3, 5)), np.ones((*shape, 2)), np.ones(longer)):
            told = name, f"found shape {wrong.shape}", f"give an array of shape {shape}"
            refused(lambda wrong=wrong, name=name: certify(problem, **{name: wrong}), *told)
        for bad, found in ((np.nan, "found nan"), (np.inf, "found inf"), ("a", "not numeric"), (1j, "complex")):
            values = np.full(shape, bad)
            refused(lambda values=values, name=name: certify(problem, **{name: values}), name, found)


@shaped
def test_axes_of_length_one_do_not_matter(problem, shapes):
    random = np.random.default_rng(0)
    point = {name: random.random(shape) for name, shape in shapes.items()}
    plain = certify(problem, **point)
    assert certify(problem, **{name: values[..., None] for name, values in point.items()}) == plain
    assert certify(problem, **{name: values.tolist() for name, values in point.items()}) == plain
    assert problem.certify(point) == plain
    assert problem.certify({**point, "no": None}, nothing=None) == plain


@shaped
def test_unknown_and_missing_arrays(problem, shapes):
    refused(lambda: certify(problem, margins=np.ones(4)), "margins", remedy=f"give some of {', '.join(shapes)}")
    for none in ({}, {next(iter(shapes)): None}):
        refused(lambda none=none: certify(problem, **none), "arrays", remedy=f"give some of {', '.join(shapes)}")
    refused(problem.certify, "arrays")
    with pytest.raises(InvalidInput, match="lam"):
        problem.certify(lam=1.0)
