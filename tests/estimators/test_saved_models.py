"""Saved models are read as they were written; files that are damaged, forged or foreign run nothing."""

import io
import json
import os
import pickle
import zipfile
from dataclasses import fields, is_dataclass
from functools import cache, partial
from inspect import isabstract
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from estimator_samples import Coordinate, Coordinates, three_classes, two_classes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from public_estimators import PUBLIC
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skops.io import dumps, get_untrusted_types, load, loads
from skops.io.exceptions import UntrustedTypesFoundException

from cvxens import (
    AdaBoostClassifier,
    CGEnsClassifier,
    ColumnGenerationClassifier,
    InfiniteEnsembleSVC,
    Interactions,
    LPBoostClassifier,
    Monotone,
    RhoSVC,
    SupervisedKernelRLSClassifier,
    SupervisedKernelRLSRegressor,
    kernels,
    load_model,
    storage,
)
from cvxens.colgen import Column, Formulation, Priced, formulations, oracles
from cvxens.errors import DataFileError, InvalidInput
from cvxens.estimators import TRUSTED_TYPES
from cvxens.kernels import Gaussian, Perceptron, Stump, StumpRegion, TreeEnsemble, and_, or_
from cvxens.kernels.finite import Centred
from cvxens.kernels.kernel import Kernel
from cvxens.problems import losses, penalties
from cvxens.storage import as_path, check_place, write_whole
from cvxens.tables import TableEncoder

FOREST = "sklearn.tree._tree.Tree"
SAMPLES = {n: (MinMaxScaler().fit_transform(X), y) for n, (X, y) in {2: two_classes(), 3: three_classes()}.items()}
X, Y = SAMPLES[2]

SEVERAL = ("depth_two_trees", "depth_three_trees", "pair_rules", "boxes")
QUICK = {"n_rounds": 9, "n_experts": 3, "tol": 0.1, "pairs": False, "max_updates": 5}
VARIANTS = {
    "perceptrons of a kernel": InfiniteEnsembleSVC(Perceptron(), solver="blockwise"),
    "gaussian": InfiniteEnsembleSVC("gaussian", C=10.0, solver="blockwise"),
    **{
        name: InfiniteEnsembleSVC(name)
        for name in ("middle-stump", "histogram-intersection", "decision-stump", "decision-tree", "laplacian")
    },
    "regions": InfiniteEnsembleSVC(StumpRegion(2)),
    "a sum of kernels": InfiniteEnsembleSVC(Stump() + 2 * Stump()),
    **{name: LPBoostClassifier(oracle=name, tol=0.1) for name in ("trees", *SEVERAL, "ramps")},
    "fourier": LPBoostClassifier(oracle="fourier", tol=0.5, random_state=0),
    "perceptrons": AdaBoostClassifier("perceptrons", n_rounds=2, random_state=0),
    "an oracle": LPBoostClassifier(oracle=oracles.Stumps, max_time=1000.0, max_columns=1000),
    "an oracle in part": LPBoostClassifier(oracle=partial(oracles.KernelColumns, Gaussian(0.5))),
    "groups of features": ColumnGenerationClassifier(
        Formulation(losses.Logistic(1.0), penalties.L1(1.0), intercept=True), oracles.FeatureGroups
    ),
    "weights of classes": CGEnsClassifier(class_weight="balanced"),
    "a tree": SupervisedKernelRLSClassifier(DecisionTreeClassifier(random_state=0), n_experts=3),
    "a forest by leaves": SupervisedKernelRLSRegressor(kernel="leaf", n_experts=3, random_state=0),
    **{
        f"{type(loss).__name__} and {type(penalty).__name__}": ColumnGenerationClassifier(
            Formulation(loss, penalty, intercept=True), "quantile_stumps", tol=0.1
        )
        for loss, penalty in [
            (losses.Hinge(1.0), penalties.L1()),
            (losses.SquaredHinge(0.1), penalties.SquaredL2()),
            (losses.Logistic(0.1), penalties.SquaredL2()),
            (losses.Exponential(0.1), penalties.SquaredL2()),
        ]
    },
}
MODELS = {**{name: type(estimator)() for name, estimator in PUBLIC.items()}, **VARIANTS}


@cache
def written(name, n_classes=2):
    """A fitted model with the content of its file; neither is to be changed."""
    sample, y = SAMPLES[n_classes]
    model = clone(MODELS[name])
    if name in PUBLIC:
        model.set_params(**{key: QUICK[key] for key in QUICK.keys() & model.get_params()})
    model.fit(sample, y if is_classifier(model) else np.unique(y, return_inverse=True)[1])
    with TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        return model, Path(folder, "model").read_bytes()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where a file goes, while no command may be run."""
    monkeypatch.setattr(os, "system", lambda command: pytest.fail(f"a file has run {command}"))
    return tmp_path / "model"


def read(place, content, **more):
    place.write_bytes(content)
    return load_model(place, **more)


def assert_same(a, b):
    """Equal in type and value, all the way down, but for scikit-learn's requests of metadata and for forests."""
    assert type(a) is type(b)
    if isinstance(a, TreeEnsemble):
        assert a.kind == b.kind
    elif isinstance(a, BaseEstimator):
        assert_same(*({k: v for k, v in vars(x).items() if k != "_metadata_request"} for x in (a, b)))
    elif is_dataclass(a) and not isinstance(a, type):
        assert_same(*({each.name: getattr(x, each.name) for each in fields(x)} for x in (a, b)))
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        for parts in zip(a, b, strict=True):
            assert_same(*parts)
    elif isinstance(a, partial):
        assert_same((a.func, a.args, a.keywords), (b.func, b.args, b.keywords))
    elif isinstance(a, np.ndarray | float):
        np.testing.assert_array_equal(a, b, strict=True)
    else:
        assert a == b


def assert_predicts_alike(again, model, sample):
    for use in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, use):
            np.testing.assert_array_equal(getattr(again, use)(sample), getattr(model, use)(sample))


@pytest.mark.thinned(1)
@pytest.mark.parametrize(("name", "n_classes"), [*((name, 2) for name in MODELS), *((name, 3) for name in PUBLIC)])
def test_every_model_is_read_as_it_was_written(place, name, n_classes):
    model, content = written(name, n_classes)
    again = read(place, content)
    assert_same(again, model)
    assert_predicts_alike(again, model, SAMPLES[n_classes][0])
    assert_predicts_alike(load(place, trusted=[*TRUSTED_TYPES, "functools.partial"]), model, SAMPLES[n_classes][0])
    assert b"pickle" not in content
    again.save(place)
    assert_predicts_alike(load_model(place), model, SAMPLES[n_classes][0])


@pytest.mark.parametrize("kernel", ["leaf", "depth"])
def test_of_forests_the_trees_are_kept(place, kernel):
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    model = SupervisedKernelRLSRegressor(kernel=kernel, n_experts=5, random_state=0).fit(holed, X[:, 0])
    model.save(place)
    again = load_model(place)
    for sample in (holed, X + 0.05):
        np.testing.assert_array_equal(again.predict(sample), model.predict(sample))
    assert [len(tree.feature) for tree in again.kernel_.forest.trees] == [
        tree.tree_.node_count for tree in model.kernel_.forest.estimators_
    ]


@pytest.mark.parametrize(
    "y", [Y.astype(object), Y == "yes", (Y == "yes").astype(np.int8), np.where(Y == "yes", 2.0, -1.0)]
)
def test_types_of_classes_and_names_of_features(place, y):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    kept = [Monotone({"a": 1}), Interactions([("a", "b")])]
    model = LPBoostClassifier(tol=0.1, class_weight={y[0]: np.float64(3.0)}, constraints=kept).fit(table, y)
    model.save(place)
    again = LPBoostClassifier.load(place)
    assert again.predict(table).dtype == model.predict(table).dtype
    assert_same(again, model)
    assert_same(again.certify(table, y), model.certify(table, y))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table.rename(columns={"a": "d"}))
    with pytest.raises(DataFileError, match="found a LPBoostClassifier in"):
        CGEnsClassifier.load(place)


def test_a_model_of_a_table(place):
    frame = pd.DataFrame({"n": np.arange(len(Y)), "town": np.where(Y == "yes", "Ulm", "Bonn"), "empty": None})
    frame["day"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(frame["n"], "D")
    encoder = TableEncoder.learn(frame, keep=("day",))
    model = LPBoostClassifier(oracle="trees").fit(encoder.transform(frame), Y)
    model.encoder_ = encoder
    model.save(place)
    assert_predicts_alike(load_model(place), model, frame)


# trusted types: every one that files hold, and no other

LOW, HIGH = (0.0,) * 3, (1.0,) * 3
STUMPS = Stump(LOW, HIGH)
GROWN = TreeEnsemble(RandomForestClassifier(3, random_state=0).fit(X, Y))

HOLDING = {
    "Centred": Centred(kernels.Linear(np.eye(3)), (0.5,) * 3),
    "Logical": and_(STUMPS, or_(STUMPS, STUMPS)),
    "MiddleStump": kernels.MiddleStump(X),
    "Product": 2 * STUMPS * STUMPS,
    "KernelSum": STUMPS + kernels.Linear(np.eye(3)),
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
"""Kernels that hold others, hypotheses, arrays or trees."""


def concrete(kind):
    """All classes of kernels of ours that there can be objects of."""
    below = {each for child in kind.__subclasses__() for each in concrete(child)}
    return below if isabstract(kind) or not kind.__module__.startswith("cvxens.") else below | {kind}


@pytest.mark.parametrize("name", HOLDING)
def test_pipelines_with_any_kernel_load_with_the_trusted_types(name):
    for machine in (InfiniteEnsembleSVC(HOLDING[name], C=0.1), RhoSVC(HOLDING[name])):
        model = make_pipeline(MinMaxScaler(clip=True), machine).fit(X, Y)
        content = dumps(model)
        forest = {FOREST} & set(get_untrusted_types(data=content))
        assert bool(forest) == ("TreeEnsemble" in name or "nodes" in name)
        assert_predicts_alike(loads(content, trusted=[*TRUSTED_TYPES, *forest]), model, X)
        if forest:
            with pytest.raises(UntrustedTypesFoundException, match=FOREST):
                loads(content, trusted=TRUSTED_TYPES)


def test_trusted_types_are_those_of_this_package_that_hold_nothing_of_others():
    assert {f"{kind.__module__}.{kind.__qualname__}" for kind in concrete(Kernel)} <= set(TRUSTED_TYPES)
    assert {name.partition(".")[0] for name in TRUSTED_TYPES} == {"cvxens"}
    assert len(set(TRUSTED_TYPES)) == len(TRUSTED_TYPES)
    others = ("FittedClassifier", "TabulatedColumn", "SklearnTrees", "TreeMatrix")
    assert not [name for name in TRUSTED_TYPES if name.endswith(others)]


OWN = [Coordinate, Coordinates]


def test_what_users_give_is_theirs_to_trust(place):
    model = ColumnGenerationClassifier(formulations.soft_margin(1.0), Coordinates).fit(X, Y)
    model.save(place)
    assert_predicts_alike(load_model(place, trusted=OWN), model, X)
    for known in ([], OWN[:1], OWN[1:]):
        with pytest.raises(
            DataFileError, match=r"^model: found that it names estimator_samples.Coordinates?, which is not"
        ):
            load_model(place, trusted=known)
    with pytest.raises(UntrustedTypesFoundException):
        loads(dumps(make_pipeline(StandardScaler(), model)), trusted=TRUSTED_TYPES)


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
    with pytest.raises(InvalidInput, match=f"^{name}: found what a file cannot hold: "):
        UNWRITABLE[name].fit(X, Y).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# places


def test_places_of_models(tmp_path):
    model = written("LPBoostClassifier")[0]
    with pytest.raises(NotFittedError):
        LPBoostClassifier().save(tmp_path / "model")
    for place in (".", "nowhere/model", "x" * 300, "a\0b"):
        with pytest.raises(DataFileError, match=r"^model: found .* cannot be written"):
            model.save(tmp_path / place)
        with pytest.raises(DataFileError, match=r"^model: found that .* cannot be read"):
            load_model(tmp_path / place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [3, None, b"model", ["model"], "~nobody of this name/model"])
def test_what_is_no_path(path):
    model = written("LPBoostClassifier")[0]
    for use in (model.save, load_model, LPBoostClassifier.load, partial(as_path, "path"), partial(check_place, "path")):
        with pytest.raises(InvalidInput, match=r"^path: found .*; (give the path of a|name a) file"):
            use(path)


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    write_whole("file", tmp_path / "file", b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataFileError, match=r"^file: .*cannot be written .*No space left"):
        write_whole("file", tmp_path / "file", b"after")
    assert (tmp_path / "file").read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_places_that_files_can_have(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for name in ("file", "new"):
        for kind in (str, Path):
            assert check_place("path", kind(tmp_path / name)) == tmp_path / name
    monkeypatch.setenv("HOME", str(tmp_path))
    assert as_path("path", "~/model") == tmp_path / "model"
    for name, found in {
        ".": "found a folder at",
        "file/model": "found no folder for it at",
        "nowhere/model": "found no folder for it at",
        "x" * 300: r"which cannot be written \(File name too long\)",
        "a\0b": r"which cannot be written \(embedded null",
    }.items():
        with pytest.raises(InvalidInput, match=f"^--out: .*{found}"):
            check_place("--out", tmp_path / name)


# damage

DAMAGE = {
    "empty": lambda whole: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "without its last byte": lambda whole: whole[:-1],
    "another byte at the start": lambda whole: bytes([whole[0] ^ 1]) + whole[1:],
    "text": lambda whole: b"a model\n" * 100,
    "a pickle": lambda whole: pickle.dumps({"a": 1}),
    "zeros": lambda whole: bytes(len(whole)),
    "backwards": lambda whole: whole[::-1],
    "a checkpoint": lambda whole: b"cvxens checkpoint 1 \n",
    "another object": lambda whole: dumps({"a": 1}),
    "not fitted": lambda whole: dumps(LPBoostClassifier()),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_what_is_no_model_is_refused(place, case):
    for load_it in (load_model, LPBoostClassifier.load):
        place.write_bytes(DAMAGE[case](written("LPBoostClassifier")[1]))
        with pytest.raises(DataFileError, match=r"^model: found (no model|no fitted|.*truncated)") as caught:
            load_it(place)
        assert str(place) in str(caught.value)


def test_former_files_and_those_that_inflate_without_end(place, monkeypatch):
    with pytest.raises(DataFileError, match="before it took files of skops; fit and save it anew"):
        read(place, b"cvxens model 2 0123456789\n")
    monkeypatch.setattr(storage, "room", lambda: 10**6)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 10**7)
    with pytest.raises(DataFileError, match="Oversized"):
        load_model(place)


ANY_FILE = st.sampled_from([(name, 2) for name in MODELS] + [("LPBoostClassifier", 3), ("InfiniteEnsembleSVC", 3)])
PATIENT = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def is_told_of_or_harmless(place, content):
    """Whether there is the one error that there should be, or a model."""
    try:
        return isinstance(read(place, content), tuple(map(type, PUBLIC.values())))
    except DataFileError as error:
        return str(error).startswith("model: found ")


@PATIENT
@given(st.data())
def test_damage_is_told_of_or_harmless(place, data):
    content = written(*data.draw(ANY_FILE))[1]
    if data.draw(st.booleans(), "truncated"):
        damaged = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        damaged = bytearray(content)
        for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5, unique=True)):
            damaged[at] ^= data.draw(st.integers(1, 255))
    assert is_told_of_or_harmless(place, bytes(damaged))


PLAIN = st.sampled_from([None, True, 0, -1, 10**30, 1e308, "", "x", "os", "system", "TypeNode", [], {}, [1], [[]]])


def places(inside, path=()):
    """The way to everything in a JSON document."""
    yield path
    items = inside.items() if isinstance(inside, dict) else enumerate(inside) if isinstance(inside, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def rewritten(content, change):
    """The file with other members, as a function of a member's name and content says."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(packed, "w") as copied:
        for name in archive.namelist():
            copied.writestr(name, change(name, archive.read(name)))
    return packed.getvalue()


@PATIENT
@given(st.data())
def test_forged_text_is_told_of_or_harmless(place, data):
    def forge(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        *way, last = data.draw(st.sampled_from([path for path in places(schema) if path]), "place")
        holder = schema
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans(), "left out"):
            del holder[last]
        else:
            holder[last] = data.draw(PLAIN)
        return json.dumps(schema)

    assert is_told_of_or_harmless(place, rewritten(written(*data.draw(ANY_FILE))[1], forge))


@pytest.mark.parametrize("loader", ["TypeNode", "FunctionNode", "ObjectNode", "PartialNode", "MethodNode"])
def test_forged_files_run_nothing(place, loader):
    def forge(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        runs = {"__class__": "system", "__module__": "os", "__loader__": loader, "__id__": 1, "content": {}}
        schema["content"]["content"]["oracle"] = runs
        return json.dumps(schema)

    with pytest.raises(DataFileError, match=r"^model: found "):
        read(place, rewritten(written("LPBoostClassifier", 3)[1], forge))


def at(place, value):
    def change(array):
        changed = array.copy()
        changed[place] = value
        return changed

    return change


FORESTS = "SupervisedKernelRLSRegressor"
MALFORMED = {
    "knots from elsewhere": ("InfiniteEnsembleSVC", "AdditiveModel", 0, at(0, -(10**9))),
    "knots beyond the end": ("InfiniteEnsembleSVC", "AdditiveModel", 0, at(-1, 10**9)),
    "features in disorder": ("InfiniteEnsembleSVC", "AdditiveModel", 0, at(1, 10**6)),
    "starts that are no places": ("InfiniteEnsembleSVC", "AdditiveModel", 0, lambda starts: starts.astype(float)),
    "starts in a table": ("InfiniteEnsembleSVC", "AdditiveModel", 0, lambda starts: starts[:, None]),
    "no starts": ("InfiniteEnsembleSVC", "AdditiveModel", 0, lambda starts: starts[:0]),
    "knots in disorder": ("InfiniteEnsembleSVC", "AdditiveModel", 1, lambda knots: -knots),
    "a knot that is no number": ("InfiniteEnsembleSVC", "AdditiveModel", 1, at(0, np.nan)),
    "a knot less": ("InfiniteEnsembleSVC", "AdditiveModel", 1, lambda knots: knots[1:]),
    "a value less": ("InfiniteEnsembleSVC", "AdditiveModel", 2, lambda values: values[1:]),
    "values that are no numbers": ("InfiniteEnsembleSVC", "AdditiveModel", 2, lambda values: values.astype("U")),
    "a tree that tests no feature": ("trees", "Nodes", 0, at(0, 10**6)),
    "a tree that ends at once": ("trees", "Nodes", 0, at(0, -1)),
    "a branch to elsewhere": ("trees", "Nodes", 2, at(0, 10**6)),
    "a branch back": ("trees", "Nodes", 2, at(0, 0)),
    "a number tested as a name": ("trees", "Nodes", 1, at(0, np.nan)),
    "a node less": ("trees", "Nodes", 1, lambda cut: cut[1:]),
    "a forest that tests no feature": (FORESTS, "ThresholdTree", 2, at(0, 10**6)),
    "a forest's branch to elsewhere": (FORESTS, "ThresholdTree", 1, at(0, 10**6)),
    "a forest's branch back": (FORESTS, "ThresholdTree", 0, at(0, 0)),
    "two branches to one node": (FORESTS, "ThresholdTree", 1, at(0, 1)),
    "a forest's node less": (FORESTS, "ThresholdTree", 3, lambda threshold: threshold[1:]),
    "a forest of words": (FORESTS, "ThresholdTree", 3, lambda threshold: threshold.astype("U")),
    "weights of other classes": ("trees", "Nodes", 3, lambda counts: counts[:, :1]),
}


def changed_records(value, name, part, change):
    """A copy of whatever holds records of a name, in which a field of these is changed, and nothing is checked."""

    def again(inside):
        return changed_records(inside, name, part, change)

    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = [change(each) if (type(value).__name__, k) == (name, part) else each for k, each in enumerate(value)]
        return type(value)(*parts)
    if isinstance(value, list | tuple):
        return type(value)(again(each) for each in value)
    if is_dataclass(value) or isinstance(value, BaseEstimator):
        made = object.__new__(type(value))
        plain = is_dataclass(value) and not isinstance(value, BaseEstimator)
        state = {each.name: getattr(value, each.name) for each in fields(value)} if plain else vars(value)
        for k, (key, inside) in enumerate(state.items()):
            is_meant = (type(value).__name__, k) == (name, part)
            object.__setattr__(made, key, change(inside) if is_meant else again(inside))
        return made
    return value


@pytest.mark.parametrize("case", MALFORMED)
def test_numbers_that_lead_compiled_code_astray_are_refused(place, case):
    kind, name, part, change = MALFORMED[case]
    model = read(place, written(kind)[1])
    with pytest.raises(DataFileError, match=r"^model: found .* truncated or damaged \("):
        read(place, dumps(changed_records(model, name, part, change)))


def test_caches_in_forged_files_of_skops_are_not_kept(place):
    for kind, attribute, caches in [
        ("trees", "weak_learners_", ("branches", "_shares", "probabilities")),
        ("InfiniteEnsembleSVC", "_predictor", ("_table", "_lines")),
        (FORESTS, "kernel_", ("_passed", "_trees")),
    ]:
        model = read(place, written(kind)[1])
        model.predict(X)
        held = getattr(model, attribute)
        record = held[0].tree if attribute == "weak_learners_" else held
        assert any(name in vars(record) for name in caches)
        made = object.__new__(type(record))
        made.__setstate__({**record.__getstate__(), **dict.fromkeys(caches, "forged")})
        assert not [name for name, value in vars(made).items() if isinstance(value, str) and value == "forged"]


def forged_arrays(array):
    """An array of other types, sizes and numbers."""
    yield array.astype(str)
    if array.ndim:
        yield from (array[:0], array[:-1], array[..., None], np.concatenate([array, array]))
    if array.dtype.kind == "f":
        yield from (np.ones(array.shape, int), array + 1j)
    if array.dtype.kind == "i":
        yield from (array.astype(float), array + 10**6, array - 10**6)
    if array.ndim == 2:
        yield from (array[:, :-1], array.ravel())


def test_forged_arrays_are_told_of_or_harmless(place):
    outcomes = []
    for family in ("InfiniteEnsembleSVC", "gaussian", "LPBoostClassifier", "RhoSVC", FORESTS):
        content = written(family)[1]
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        held = [name for name in members if name.endswith(".npy")]
        # some four, from the first to the last
        for name in held[:: max(1, len(held) // 4)]:
            for wrong in forged_arrays(np.load(io.BytesIO(members[name]))):
                member = io.BytesIO()
                np.save(member, wrong)
                forged = {name: member.getvalue()}
                # whatever Python raises of a model that is odd, the process goes on
                try:
                    model = read(place, rewritten(content, lambda each, old, forged=forged: forged.get(each, old)))
                    outcomes.append(len(model.predict(X)) == len(X))
                except DataFileError:
                    outcomes.append("refused")
    assert set(outcomes) == {True, "refused"}
