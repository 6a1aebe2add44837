"""What single estimators refuse, beyond the table of bad inputs for all of them."""

from contextlib import suppress

import numpy as np
import pytest
from estimator_samples import called, two_classes
from public_estimators import PUBLIC
from scipy.sparse import csr_array
from sklearn.base import clone

from cvxens import (
    AdaBoostClassifier,
    CGEnsClassifier,
    ColumnGenerationClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    RegAdaBoostClassifier,
    RhoSVC,
)
from cvxens.colgen import formulations, oracles
from cvxens.errors import CvxensError, InvalidInput
from cvxens.kernels import Linear

X, Y = two_classes()

COMBINATIONS = [
    (LPBoostClassifier(nu=0.5, C=1.0), "nu"),
    (ColumnGenerationClassifier(formulations.simplex_least_squares([[1.0], [-1.0]] * 20, 1.0)), "formulation"),
    (LPBoostClassifier(oracle=oracles.Trees, columns_per_round=3), "columns_per_round"),
    (AdaBoostClassifier(nu=1.0), "nu"),
]

DENSE = [name for name in PUBLIC if not PUBLIC[name].__sklearn_tags__().input_tags.sparse]


@pytest.mark.parametrize(("estimator", "name"), COMBINATIONS)
def test_parameters_that_do_not_go_together(estimator, name):
    with pytest.raises(InvalidInput, match=f"^{name}: found"):
        estimator.fit(X, Y)


@pytest.mark.parametrize("name", DENSE)
def test_sparse_samples_for_dense_methods(name):
    with pytest.raises(TypeError, match="dense"):
        clone(PUBLIC[name]).fit(csr_array(X), Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1.0]}, "weights: found shape"),
        ({"weights": [np.nan]}, "weights"),
        ({"y": np.full(len(X), "yes")}, "y"),
        ({"y": np.where(Y == "yes", "yes", "perhaps")}, "y: found the classes"),
        ({"X": X[:, :2]}, "2 features"),
    ],
)
@pytest.mark.parametrize("estimator", [LPBoostClassifier(), AdaBoostClassifier(n_rounds=5), RhoSVC()], ids=called)
def test_bad_certification(estimator, arguments, message):
    model = clone(estimator).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.certify(**{"X": X, "y": Y, **arguments})


def test_fixed_prices_for_weighted_samples():
    model = ColumnGenerationClassifier(formulations.soft_margin(0.5))
    with pytest.raises(InvalidInput, match="function from the weights"):
        model.fit(X, Y, sample_weight=np.arange(1.0, 1 + len(X)))


FAR_OUT = {
    "a hard margin": RhoSVC(C=1e300),
    "products that overflow": CGEnsClassifier(C=1e300, max_time=1),
    "blocks that overflow": InfiniteEnsembleSVC("perceptron", C=1e300),
    "a kernel that overflows": InfiniteEnsembleSVC(Linear(np.eye(3)), C=1.0),
    "squares that overflow": RegAdaBoostClassifier(Linear(np.eye(3))),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("case", FAR_OUT)
@pytest.mark.parametrize("factor", [1.0, 1e-300, 1e200])
def test_numbers_far_out_end_in_a_model_or_in_an_error_of_ours(case, factor):
    X, y = two_classes()
    model = clone(FAR_OUT[case])
    with suppress(CvxensError):
        model.fit(factor * X, y)
    if hasattr(model, "classes_"):
        assert set(model.predict(factor * X)) <= set(y)
    else:
        with pytest.raises(CvxensError, match=";"):
            model.fit(factor * X, y)
