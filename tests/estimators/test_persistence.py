"""Saved models predict what they did, to the last bit; files that are damaged, forged or foreign run nothing."""

import json
import os
import zipfile
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimator_samples import EVERY, called, three_classes, two_classes
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from skops.io import dumps, load

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    CGEnsClassifier,
    ColumnGenerationClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    MultiBoostClassifier,
    PartialSVMEnsembleClassifier,
    PriceSearchCV,
    RegAdaBoostClassifier,
    RhoSVC,
    SupervisedKernelRLSClassifier,
    SupervisedKernelRLSRegressor,
    load_model,
    storage,
)
from cvxens.colgen import Column, Formulation, Priced, formulations, oracles
from cvxens.errors import DataFileError, InvalidInput
from cvxens.estimators import TRUSTED_TYPES
from cvxens.kernels import Gaussian, Perceptron
from cvxens.problems.losses import SquaredHinge
from cvxens.problems.penalties import SquaredL2

X, Y = two_classes()


@dataclass(frozen=True)
class Coordinate:
    """A user's hypothesis: a feature as it is."""

    feature: int
    sign: float

    def __call__(self, X, /):
        return self.sign * np.asarray(X)[:, self.feature]


class Coordinates:
    """A user's oracle."""

    def __init__(self, X):
        self.X = self.sample = X

    def price(self, s, exclude=()):
        edges = self.X.T @ s.ravel()
        best = np.argsort(-np.abs(edges)).tolist()
        return Priced([Column(Coordinate(j, np.sign(edges[j])), self.X, abs(edges[j])) for j in best], abs(edges).max())


OWN = [Coordinate, Coordinates]


def saved(model, path):
    model.save(path)
    return path


def assert_same(a, b):
    """Equal in type and value, all the way down, but for scikit-learn's requests of metadata."""
    assert type(a) is type(b)
    if hasattr(a, "get_params") and not isinstance(a, type):
        kept = [{k: v for k, v in vars(x).items() if k != "_metadata_request"} for x in (a, b)]
        assert_same(*kept)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for parts in zip(a, b, strict=True):
            assert_same(*parts)
    elif not isinstance(a, partial | Formulation):
        assert a == b


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize("sample", [two_classes(), three_classes()], ids=["two classes", "three classes"])
def test_every_estimator_is_read_as_it_was_written(tmp_path, estimator, sample):
    model = clone(estimator).fit(*sample)
    again = load_model(saved(model, tmp_path / "model"))
    assert_same(again, model)
    np.testing.assert_array_equal(again.decision_function(sample[0]), model.decision_function(sample[0]))
    np.testing.assert_array_equal(again.predict(sample[0]), model.predict(sample[0]))
    first = again.certify(*sample)
    assert_same(first, model.certify(*sample))


VARIANTS = [
    InfiniteEnsembleSVC(),
    InfiniteEnsembleSVC("gaussian", C=10.0, solver="blockwise"),
    InfiniteEnsembleSVC(Perceptron(), solver="reference"),
    RhoSVC(),
    PartialSVMEnsembleClassifier(),
    RegAdaBoostClassifier(),
    AdaBoostClassifier(n_rounds=10),
    AdaBoostECCClassifier(n_rounds=10),
    AdaBoostMHClassifier(n_rounds=10),
    MultiBoostClassifier(tol=0.1),
    PriceSearchCV(),
    LPBoostClassifier(oracle="fourier", random_state=0, tol=0.1),
    LPBoostClassifier(oracle="trees"),
    LPBoostClassifier(oracle=oracles.Stumps),
    LPBoostClassifier(oracle=partial(oracles.KernelColumns, Gaussian(0.5))),
    ColumnGenerationClassifier(Formulation(SquaredHinge(0.1), SquaredL2(), intercept=True)),
    CGEnsClassifier(class_weight="balanced"),
    LPBoostClassifier(max_time=1000.0, max_columns=1000),
]


@pytest.mark.parametrize("estimator", VARIANTS, ids=[f"{called(each)} {k}" for k, each in enumerate(VARIANTS)])
@pytest.mark.parametrize("sample", [two_classes(), three_classes()], ids=["two classes", "three classes"])
def test_what_parameters_can_be_and_fits_with_them(tmp_path, estimator, sample):
    model = clone(estimator).fit(*sample)
    again = load_model(saved(model, tmp_path / "model"))
    assert vars(again).keys() == vars(model).keys()
    assert repr(vars(again).get("certificate_")) == repr(vars(model).get("certificate_"))
    assert repr(again.get_params()) == repr(model.get_params())
    for same in (again, clone(again).fit(*sample)):
        np.testing.assert_array_equal(same.decision_function(sample[0]), model.decision_function(sample[0]))


@pytest.mark.parametrize("weights", [{"yes": 3.0, "no": 1}, {"yes": np.float64(3.0)}])
def test_weights_of_classes(tmp_path, weights):
    model = CGEnsClassifier(class_weight=weights).fit(X, Y)
    assert load_model(saved(model, tmp_path / "model")).class_weight == weights


@pytest.mark.parametrize(
    "y", [Y.astype(object), Y == "yes", (Y == "yes").astype(np.int8), np.where(Y == "yes", 2.0, -1.0)]
)
def test_types_of_classes(tmp_path, y):
    model = LPBoostClassifier(tol=0.1).fit(X, y)
    again = load_model(saved(model, tmp_path / "model"))
    assert again.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_names_of_features(tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    again = load_model(saved(LPBoostClassifier().fit(table, Y), tmp_path / "model"))
    assert again.predict(table).shape == Y.shape
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table.rename(columns={"a": "d"}))


def test_sparse_samples(tmp_path):
    model = LPBoostClassifier().fit(csr_array(X), Y)
    again = load_model(saved(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(csr_array(X)), model.decision_function(csr_array(X)))


def test_a_model_of_this_class_only(tmp_path):
    path = saved(LPBoostClassifier(tol=0.1).fit(X, Y), tmp_path / "model")
    assert isinstance(LPBoostClassifier.load(path), LPBoostClassifier)
    with pytest.raises(DataFileError, match="found a LPBoostClassifier in"):
        CGEnsClassifier.load(path)


def test_ones_own_classes_have_to_be_trusted(tmp_path):
    model = ColumnGenerationClassifier(formulations.soft_margin(1.0), Coordinates).fit(X, Y)
    path = saved(model, tmp_path / "model")
    again = load_model(path, trusted=OWN)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    for known in ([], OWN[:1], OWN[1:]):
        with pytest.raises(
            DataFileError, match=rf"^model: found that it names {__name__}.Coordinates?, which is not tr"
        ):
            load_model(path, trusted=known)


class Anonymous(oracles.Stumps):
    """An oracle whose hypotheses are functions."""

    def price(self, s, exclude=()):
        priced = super().price(s)
        return Priced([Column(lambda X, h=c.hypothesis: h(X), c.sample, c.edge) for c in priced.columns])


UNWRITABLE = {
    "oracle": LPBoostClassifier(oracle=lambda X: oracles.Stumps(X[:])),
    "formulation": ColumnGenerationClassifier(lambda weights: formulations.soft_margin(2 * weights)),
    "weak_learners_": LPBoostClassifier(oracle=Anonymous, tol=0.9),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_only_code_could_make_again_is_refused(tmp_path, name):
    model = UNWRITABLE[name].fit(X, Y)
    with pytest.raises(InvalidInput, match=f"^{name}: found what a file cannot hold: "):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


SUPERVISED = [SupervisedKernelRLSClassifier, SupervisedKernelRLSRegressor]


@pytest.mark.parametrize("kind", SUPERVISED)
@pytest.mark.parametrize("kernel", ["leaf", "depth"])
def test_of_forests_the_trees_are_kept(tmp_path, kind, kernel):
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    model = kind(kernel=kernel, n_experts=5, random_state=0).fit(holed, (Y == "yes").astype(float))
    again = load_model(saved(model, tmp_path / "model"))
    for sample in (holed, X + 0.05):
        np.testing.assert_array_equal(again.predict(sample), model.predict(sample))
    assert vars(again).keys() == vars(model).keys()
    assert [len(tree.feature) for tree in again.kernel_.forest.trees] == [
        tree.tree_.node_count for tree in model.kernel_.forest.estimators_
    ]
    twice = load_model(saved(again, tmp_path / "again"))
    np.testing.assert_array_equal(twice.predict(X), model.predict(X))
    refitted = clone(again).fit(holed, (Y == "yes").astype(float))
    np.testing.assert_array_equal(refitted.predict(X), model.predict(X))


@pytest.mark.parametrize("kind", SUPERVISED)
def test_a_tree_that_is_a_parameter(tmp_path, kind):
    model = kind(DecisionTreeClassifier(random_state=0)).fit(X, Y == "yes")
    again = load_model(saved(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_an_unfitted_estimator(tmp_path):
    with pytest.raises(NotFittedError):
        LPBoostClassifier().save(tmp_path / "model")


@pytest.mark.parametrize("place", ["nowhere/model", ".", "x" * 300, "a\0b"])
def test_a_place_that_cannot_be_written(tmp_path, place):
    model = LPBoostClassifier(tol=0.1).fit(X, Y)
    with pytest.raises(DataFileError, match=r"^model: found that .* cannot be written"):
        model.save(tmp_path / place)


@pytest.mark.parametrize("place", ["gone", ".", "x" * 300, "a\0b"])
def test_a_place_that_cannot_be_read(tmp_path, place):
    with pytest.raises(DataFileError, match=r"^model: found that .* cannot be read"):
        load_model(tmp_path / place)


@pytest.mark.parametrize("path", [3, None, b"model", "~nobody of this name/model"])
def test_what_is_no_path(path):
    model = LPBoostClassifier(tol=0.1).fit(X, Y)
    for use in (model.save, load_model, LPBoostClassifier.load):
        with pytest.raises(InvalidInput, match=r"^path: found .*; (give the path of a|name a) file"):
            use(path)


def test_a_full_disk_leaves_the_last_model(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    path = saved(LPBoostClassifier(tol=0.1).fit(X, Y), tmp_path / "model")
    before = path.read_bytes()
    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(DataFileError, match="No space left"):
        LPBoostClassifier(tol=0.5).fit(X, Y).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    LPBoostClassifier(tol=0.1).fit(*three_classes()).save(path)
    return path


def test_what_is_no_model(tmp_path, whole):
    checkpoint = tmp_path / "run"
    checkpoint.write_bytes(b"cvxens checkpoint 1 \n")
    with pytest.raises(DataFileError, match="found no model in"):
        load_model(checkpoint)
    checkpoint.write_bytes(b"cvxens model 2 0123456789\n")
    with pytest.raises(DataFileError, match="before it took files of skops; fit and save it anew"):
        load_model(checkpoint)
    checkpoint.write_bytes(dumps({"a": 1}))
    with pytest.raises(DataFileError, match="found no fitted estimator of cvxens in"):
        load_model(checkpoint)
    checkpoint.write_bytes(dumps(LPBoostClassifier()))
    with pytest.raises(DataFileError, match="found no fitted estimator of cvxens in"):
        load_model(checkpoint)


def test_a_file_that_inflates_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "room", lambda: 10**6)
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 10**7)
    with pytest.raises(DataFileError, match="Oversized"):
        load_model(tmp_path / "bomb")


RUNS = {"__class__": "system", "__module__": "os", "__loader__": "TypeNode", "__id__": 1}


@pytest.mark.parametrize("loader", ["TypeNode", "FunctionNode", "ObjectNode", "PartialNode", "MethodNode"])
def test_forged_files_run_nothing(tmp_path, whole, monkeypatch, loader):
    monkeypatch.setattr(os, "system", lambda command: pytest.fail(f"a file has run {command}"))
    forged = tmp_path / "forged"
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(forged, "w") as written:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                schema["content"]["content"]["oracle"] = {**RUNS, "__loader__": loader, "content": {}}
                content = json.dumps(schema)
            written.writestr(name, content)
    with pytest.raises(DataFileError, match=r"^model: found "):
        load_model(forged)


def test_the_file_is_one_of_skops(whole):
    X, _ = three_classes()
    np.testing.assert_array_equal(load(whole, trusted=TRUSTED_TYPES).predict(X), load_model(whole).predict(X))
    assert b"pickle" not in whole.read_bytes()
    assert [entry.name for entry in whole.parent.iterdir() if entry.name.startswith(".")] == []
