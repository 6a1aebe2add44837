"""Pipelines in files of skops: the types that a reader is asked to trust, and predictions equal to the last bit."""

from inspect import isabstract

import numpy as np
import pandas as pd
import pytest
from estimator_samples import called, three_classes, two_classes
from public_estimators import QUICK
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from skops.io import dumps, get_untrusted_types, loads
from skops.io.exceptions import UntrustedTypesFoundException

from cvxens import (
    AdaBoostClassifier,
    ColumnGenerationClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    RhoSVC,
    estimators,
    kernels,
    load_model,
)
from cvxens.colgen import Formulation, oracles
from cvxens.estimators import TRUSTED_TYPES
from cvxens.kernels import Linear, Stump, StumpRegion, TreeEnsemble, and_, or_
from cvxens.kernels.finite import Centred
from cvxens.kernels.kernel import Kernel
from cvxens.problems import losses, penalties
from cvxens.tables import TableEncoder

FOREST = "sklearn.tree._tree.Tree"
SAMPLES = [pytest.param(two_classes(), id="two classes"), pytest.param(three_classes(), id="three classes")]

VOTE = {"Certificate", "Round", "Stump", "Constant"}
BOOSTED = {"Certificate", "BoostingRound", "Stump", "Constant"}
ADDITIVE = {"Certificate", "Round", "TrainingKernel", "AdditiveModel"}
STUMP = ADDITIVE | {"Stump", "SimplifiedStump"}
EXPANSION = {"Certificate", "Round", "TrainingKernel", "Expansion"}
MIDDLE_STUMPS = {"MiddleStump"}
FOREST_EXPERTS = {"Certificate", "LeastSquaresExperts", "TreeEnsemble", "Tree"}

BY_DEFAULT = {
    "AdaBoostClassifier": BOOSTED,
    "AdaBoostECCClassifier": BOOSTED | {"Coded"},
    "AdaBoostMHClassifier": BOOSTED | {"Coded"},
    "AdditiveClassifier": VOTE | {"Ramp"},
    "AdditiveRegressor": VOTE | {"Ramp"},
    "CGEnsClassifier": VOTE,
    "CGEnsSLSClassifier": VOTE,
    "ColumnGenerationClassifier": VOTE | {"soft_margin"},
    "ColumnGenerationRegressor": VOTE | {"absolute_errors"},
    "ColumnGenerationSurvival": VOTE,
    "InfiniteEnsembleSVC": STUMP,
    "InfiniteEnsembleSVR": EXPANSION | {"Stump", "SimplifiedStump"},
    "LPBoostClassifier": VOTE,
    "LPBoostRanker": VOTE,
    "LPBoostRegressor": VOTE,
    "MultiBoostClassifier": VOTE,
    "PartialSVMEnsembleClassifier": {"Certificate", "PartialSVM", "FixedKernel"} | MIDDLE_STUMPS,
    "PriceSearchCV": STUMP | {"InfiniteEnsembleSVC"},
    "RegAdaBoostClassifier": {"Certificate", "FixedKernel"} | MIDDLE_STUMPS,
    "RhoSVC": {"Certificate", "FixedKernel"} | MIDDLE_STUMPS,
    "SupervisedKernelRLSClassifier": FOREST_EXPERTS,
    "SupervisedKernelRLSRegressor": FOREST_EXPERTS,
}
"""What the files of each hold beside it."""

CHANCE = {"Constant", "Ramp"}
"""What the data decide whether there are."""

TABLE = {"TableEncoder", "TableColumn", "Numerals", "Dates"}
TREES_ALONE = {"ThresholdTrees", "ThresholdTree"}
TREES = {"Certificate", "Round", "SignedTree", "Tree", "Nodes", "Feature"}
TREES_OF_DEPTH_TWO = {"Certificate", "Round", "Branch", "Stump"}
VARIANTS = {
    "trees": (LPBoostClassifier(oracle="trees", tol=0.1), TREES),
    "trees of depth 2": (LPBoostClassifier(oracle="depth_two_trees", tol=0.1), TREES_OF_DEPTH_TWO),
    "ramps": (LPBoostClassifier(oracle="ramps", tol=0.1), {"Certificate", "Round", "Ramp"}),
    "rules": (LPBoostClassifier(oracle="pair_rules", tol=0.1), {"Certificate", "Round", "Rule", "Interval"}),
    "perceptrons": (
        AdaBoostClassifier("perceptrons", n_rounds=2, random_state=0),
        {"Certificate", "BoostingRound", "Perceptron"},
    ),
    "fourier": (
        LPBoostClassifier(oracle="fourier", tol=0.5, random_state=0),
        {"Certificate", "Round", "Wave"},
    ),
    "middle-stump": (InfiniteEnsembleSVC("middle-stump"), EXPANSION | MIDDLE_STUMPS),
    "histogram-intersection": (
        InfiniteEnsembleSVC("histogram-intersection"),
        STUMP - {"Stump"} | {"HistogramIntersection"},
    ),
    "regions": (InfiniteEnsembleSVC(StumpRegion(2)), EXPANSION | {"Clipped", "StumpRegion"}),
    "decision-stump": (InfiniteEnsembleSVC("decision-stump"), STUMP - {"Stump"} | {"DecisionStump"}),
    "perceptron": (InfiniteEnsembleSVC("perceptron"), EXPANSION | {"Perceptron", "SimplifiedPerceptron"}),
    "decision-tree": (
        InfiniteEnsembleSVC("decision-tree"),
        EXPANSION | {"DecisionTree", "SimplifiedLaplacian", "Scaled"},
    ),
    "laplacian": (InfiniteEnsembleSVC("laplacian"), EXPANSION | {"Laplacian", "SimplifiedLaplacian"}),
    "gaussian": (InfiniteEnsembleSVC("gaussian"), EXPANSION | {"Gaussian", "SimplifiedGaussian"}),
    "a sum of kernels": (InfiniteEnsembleSVC(Stump() + 2 * Stump()), STUMP | {"Sum", "Scaled"}),
    **{
        f"{type(loss).__name__} and {type(penalty).__name__}": (
            ColumnGenerationClassifier(Formulation(loss, penalty, intercept=True), "quantile_stumps", tol=0.1),
            VOTE | {"Formulation", type(loss).__name__, type(penalty).__name__},
        )
        for loss, penalty in [
            (losses.Hinge(1.0), penalties.L1()),
            (losses.SquaredHinge(0.1), penalties.SquaredL2()),
            (losses.Logistic(0.1), penalties.SquaredL2()),
            (losses.Exponential(0.1), penalties.SquaredL2()),
        ]
    },
}


def short(names):
    """The names of types without their modules."""
    return {name.rpartition(".")[2] for name in names}


def fitted(estimator, sample):
    """A pipeline that has been used."""
    X, y = sample
    scaler = MinMaxScaler() if isinstance(estimator, InfiniteEnsembleSVC) else StandardScaler()
    targets = y if is_classifier(estimator) else np.unique(y, return_inverse=True)[1]
    model = make_pipeline(scaler, clone(estimator)).fit(X, targets)
    model.predict(X)
    return model


def assert_read_as_written(model, X, trusted):
    again = loads(dumps(model), trusted=trusted)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for scores in ("decision_function", "predict_proba"):
        if hasattr(model, scores):
            np.testing.assert_array_equal(getattr(again, scores)(X), getattr(model, scores)(X))


def test_every_estimator_is_in_the_table():
    assert BY_DEFAULT.keys() == {name for name in estimators.__all__ if hasattr(getattr(estimators, name), "fit")}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("name", BY_DEFAULT)
def test_the_types_of_every_estimator(name, sample):
    estimator = getattr(estimators, name)()
    quick = {"n_rounds": 9, "n_experts": 3, "tol": 0.01, "pairs": False, "forest": QUICK.get(name, {}).get("forest")}
    model = fitted(estimator.set_params(**{key: quick[key] for key in quick.keys() & estimator.get_params()}), sample)
    found = get_untrusted_types(data=dumps(model))
    assert short(found) - CHANCE == (BY_DEFAULT[name] | {name}) - CHANCE
    assert set(found) <= {*TRUSTED_TYPES, FOREST}
    assert_read_as_written(model, sample[0], found)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("name", VARIANTS)
def test_the_types_of_oracles_and_kernels(name, sample):
    estimator, types = VARIANTS[name]
    model = fitted(estimator, sample)
    found = short(get_untrusted_types(data=dumps(model)))
    assert found - {"Constant"} == (types | {called(estimator)}) - {"Constant"}
    assert_read_as_written(model, sample[0], TRUSTED_TYPES)


@pytest.mark.parametrize("kind", [estimators.SupervisedKernelRLSClassifier, estimators.SupervisedKernelRLSRegressor])
def test_of_models_that_were_saved_there_is_no_forest_to_trust(tmp_path, kind):
    X, y = two_classes()
    kind(n_experts=3, random_state=0).fit(X, (y == "yes").astype(float)).save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    found = short(get_untrusted_types(data=dumps(model)))
    assert found == {kind.__name__, *FOREST_EXPERTS - {"Tree"}, *TREES_ALONE}
    assert_read_as_written(model, X, TRUSTED_TYPES)


def test_the_types_of_a_model_of_a_table():
    _, y = two_classes()
    frame = pd.DataFrame({"n": np.arange(len(y)), "town": np.where(y == "yes", "Ulm", "Bonn"), "empty": None})
    frame["day"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(frame["n"], "D")
    encoder = TableEncoder.learn(frame, keep=("day",))
    model = LPBoostClassifier().fit(encoder.transform(frame), y)
    model.encoder_ = encoder
    found = short(get_untrusted_types(data=dumps(model)))
    assert TABLE <= found <= TABLE | VOTE | {"LPBoostClassifier"}
    assert_read_as_written(model, frame, TRUSTED_TYPES)


def test_the_types_of_a_kernel_of_differences():
    X, y = two_classes()
    model = fitted(InfiniteEnsembleSVC(Linear(np.eye(X.shape[1]))), (X, y))
    types = short(get_untrusted_types(data=dumps(model)))
    assert types == EXPANSION | {"Linear", "Centred", "InfiniteEnsembleSVC"}
    assert_read_as_written(model, X, TRUSTED_TYPES)


def test_every_trusted_type_is_one_that_files_hold():
    tables = [
        *BY_DEFAULT.values(),
        *(types for _, types in VARIANTS.values()),
        BY_DEFAULT.keys(),
        TREES_ALONE | {"OwnTrees"},
        TABLE,
        {"_take_values", "Linear", "StumpRegion", "Precomputed", "WeakLearner", "Product", "Logical"},
        {"Staircase", "KernelColumn", "KernelExpansion", "Points"},
        {
            "LevelStump",
            "Indicator",
            "Negated",
            "LinearForm",
            "Formula",
            "Connective",
            "_unlike",
            "PassesNode",
            "Centred",
        },
        {"SimplifiedLaplacian", "SimplifiedGaussian"},
        {"EqualMeanScores", "GroupLoss", "ClassLoss", "FeatureBudget"},
        {"Monotone", "Convex", "Concave", "Interactions"},
        set(oracles.__all__),
        {"Among"},
    ]
    assert short(TRUSTED_TYPES) == set().union(*tables)
    assert {name.partition(".")[0] for name in TRUSTED_TYPES} == {"cvxens"}
    assert len(set(TRUSTED_TYPES)) == len(TRUSTED_TYPES)


def test_kernel_matrices():
    X, y = two_classes()
    model = InfiniteEnsembleSVC("precomputed").fit(X @ X.T, y)
    assert {"_take_values"} <= short(get_untrusted_types(data=dumps(model)))
    assert_read_as_written(model, X @ X.T, TRUSTED_TYPES)


LOW, HIGH = (0.0,) * 3, (1.0,) * 3
STUMPS = Stump(LOW, HIGH)
SCALED_X = MinMaxScaler().fit_transform(two_classes()[0])
GROWN = TreeEnsemble(RandomForestClassifier(3, random_state=0).fit(SCALED_X, two_classes()[1]))

EVERY_KERNEL = {
    "Centred": Centred(kernels.Linear(np.eye(3)), (0.5,) * 3),
    "DecisionStump": kernels.DecisionStump(),
    "DecisionTree": kernels.DecisionTree(0.1),
    "Gaussian": kernels.Gaussian(1.0),
    "HistogramIntersection": kernels.HistogramIntersection(),
    "Laplacian": kernels.Laplacian(1.0),
    "Linear": kernels.Linear(np.eye(3)),
    "Logical": and_(STUMPS, STUMPS),
    "Logical, or": or_(STUMPS, STUMPS),
    "MiddleStump": kernels.MiddleStump(SCALED_X),
    "Perceptron": kernels.Perceptron(),
    "Precomputed": kernels.Precomputed(np.eye(40) + SCALED_X @ SCALED_X.T),
    "Product": STUMPS * STUMPS,
    "Scaled": 2 * STUMPS,
    "SimplifiedGaussian": kernels.SimplifiedGaussian(1.0),
    "SimplifiedLaplacian": kernels.SimplifiedLaplacian(1.0),
    "SimplifiedPerceptron": kernels.SimplifiedPerceptron(),
    "SimplifiedStump": kernels.SimplifiedStump(),
    "Stump": Stump(),
    "Stump, of given ranges": STUMPS,
    "StumpRegion": kernels.StumpRegion(2, LOW, HIGH),
    "StumpRegion, of open ranges": kernels.StumpRegion(2),
    "Sum": STUMPS + kernels.Linear(np.eye(3)),
    "TreeEnsemble": GROWN,
    **{
        f"WeakLearner, of {name}": kernels.WeakLearner(kernel.sample(5, random_state=0))
        for name, kernel in {
            "stumps": STUMPS,
            "linear forms": kernels.Linear(np.eye(3)),
            "waves": kernels.Gaussian(1.0, 3),
            "regions": kernels.StumpRegion(2, LOW, HIGH),
            "products": STUMPS * STUMPS,
            "nodes": GROWN,
        }.items()
    },
}


def concrete(kind):
    """All classes of kernels of ours that there can be objects of."""
    below = {each for child in kind.__subclasses__() for each in concrete(child)}
    return below if isabstract(kind) or not kind.__module__.startswith("cvxens.") else below | {kind}


def test_every_kernel_is_in_the_table():
    abstract = {"OfDistance", "ExponentialOfDistance", "ExponentialLessOne"}
    # what a fit makes of open ranges and of values, and what regions are drawn with: nobody gives them
    made = {"Clipped", "Constants", "RankDifference"}
    given = {kind.__name__ for kind in concrete(Kernel)} - abstract - made
    assert {name.partition(",")[0] for name in EVERY_KERNEL} == given
    assert {kind.__name__ for kind in concrete(Kernel)} >= {
        name for name in kernels.__all__ if name[0].isupper() and name != "Kernel"
    }


@pytest.mark.parametrize("name", EVERY_KERNEL)
def test_pipelines_with_any_kernel_load_with_the_trusted_types(name):
    X, y = two_classes()
    kernel = EVERY_KERNEL[name]
    X, scaler = (np.arange(40)[:, None], "passthrough") if name == "Precomputed" else (X, MinMaxScaler(clip=True))
    machines = [InfiniteEnsembleSVC(kernel, C=0.1)]
    if not name.startswith("Simplified"):
        machines += [RhoSVC(kernel)]
    for machine in machines:
        model = make_pipeline(scaler, machine).fit(X, y)
        forest = [FOREST] if FOREST in get_untrusted_types(data=dumps(model)) else []
        assert bool(forest) == ("TreeEnsemble" in name or "nodes" in name)
        assert_read_as_written(model, X, [*TRUSTED_TYPES, *forest])


def make_stumps(X):
    return oracles.Stumps(X)


def test_what_users_give_is_theirs_to_trust():
    X, y = two_classes()
    data = dumps(make_pipeline(StandardScaler(), LPBoostClassifier(oracle=make_stumps, tol=0.1)).fit(X, y))
    with pytest.raises(UntrustedTypesFoundException):
        loads(data, trusted=TRUSTED_TYPES)
    assert loads(data, trusted=get_untrusted_types(data=data)).score(X, y) > 0.5


@pytest.mark.parametrize("kind", [estimators.SupervisedKernelRLSClassifier, estimators.SupervisedKernelRLSRegressor])
def test_forests_are_trusted_by_name(kind):
    X, y = two_classes()
    forest = QUICK[kind.__name__]["forest"]
    expert = kind(forest=forest, n_experts=3, random_state=0)
    model = make_pipeline(StandardScaler(), expert).fit(X, (y == "yes").astype(float))
    with pytest.raises(UntrustedTypesFoundException, match=FOREST):
        loads(dumps(model), trusted=TRUSTED_TYPES)
    assert_read_as_written(model, X, [*TRUSTED_TYPES, FOREST])
