"""Files of every estimator, damaged at random: always one error, or a model; nothing else is raised, nothing is run."""

import io
import json
import os
import zipfile
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, is_classifier
from skops.io import dumps

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier, estimators, load_model
from cvxens.errors import DataFileError

KINDS = [getattr(estimators, name) for name in estimators.__all__ if hasattr(getattr(estimators, name), "fit")]

VARIANTS = {
    "trees": LPBoostClassifier(oracle="trees", tol=0.1),
    "fourier": LPBoostClassifier(oracle="fourier", tol=0.5, random_state=0),
    "gaussian": InfiniteEnsembleSVC("gaussian"),
    "decision-tree": InfiniteEnsembleSVC("decision-tree"),
    "histogram-intersection": InfiniteEnsembleSVC("histogram-intersection"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The content of a file of every estimator, for two classes, and of some for three."""
    path, contents = tmp_path_factory.mktemp("models") / "model", {}

    def keep(name, model, X, y):
        model.fit(np.abs(X), y if is_classifier(model) else np.unique(y, return_inverse=True)[1]).save(path)
        contents[name] = path.read_bytes()

    for kind in KINDS:
        quick = {"n_rounds": 5, "tol": 0.1, "n_experts": 3}
        known = kind().get_params()
        keep(kind.__name__, kind(**{name: value for name, value in quick.items() if name in known}), *two_classes())
    for name, model in VARIANTS.items():
        keep(name, model, *two_classes())
    for model in (LPBoostClassifier(tol=0.1), InfiniteEnsembleSVC()):
        keep(f"{type(model).__name__} of three", model, *three_classes())
    return contents


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where a damaged file goes, while no command may be run."""
    monkeypatch.setattr(os, "system", lambda command: pytest.fail(f"a file has run {command}"))
    return tmp_path / "damaged"


def drawn_damage(data, content):
    """Some bytes other than they were, or an early end."""
    if data.draw(st.booleans(), "truncated"):
        return content[: data.draw(st.integers(0, len(content) - 1))]
    damaged = bytearray(content)
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5, unique=True)):
        damaged[at] ^= data.draw(st.integers(1, 255))
    return bytes(damaged)


PATIENT = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def is_told_of_or_harmless(place):
    """Whether there is the one error that there should be, or a model."""
    try:
        return isinstance(load_model(place), tuple(KINDS))
    except DataFileError as error:
        return str(error).startswith("model: found ")


@PATIENT
@given(st.data())
def test_damage_is_told_of_or_harmless(files, place, data):
    place.write_bytes(drawn_damage(data, files[data.draw(st.sampled_from(sorted(files)))]))
    assert is_told_of_or_harmless(place)


PLAIN = st.sampled_from([None, True, 0, -1, 10**30, 1e308, "", "x", "os", "system", "TypeNode", [], {}, [1], [[]]])


def places(written, path=()):
    """The way to everything in a JSON document."""
    yield path
    inside = written.items() if isinstance(written, dict) else enumerate(written) if isinstance(written, list) else ()
    for key, value in inside:
        yield from places(value, (*path, key))


def rewritten(content, change):
    """The file with other members, as a function of a member's name and content says."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(packed, "w") as written:
        for name in archive.namelist():
            written.writestr(name, change(name, archive.read(name)))
    return packed.getvalue()


@PATIENT
@given(st.data())
def test_forged_text_is_told_of_or_harmless(files, place, data):
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

    place.write_bytes(rewritten(files[data.draw(st.sampled_from(sorted(files)))], forge))
    assert is_told_of_or_harmless(place)


def at(place, value):
    def change(array):
        changed = array.copy()
        changed[place] = value
        return changed

    return change


FOREST = "SupervisedKernelRLSRegressor"
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
    "a forest that tests no feature": (FOREST, "ThresholdTree", 2, at(0, 10**6)),
    "a forest's branch to elsewhere": (FOREST, "ThresholdTree", 1, at(0, 10**6)),
    "a forest's branch back": (FOREST, "ThresholdTree", 0, at(0, 0)),
    "two branches to one node": (FOREST, "ThresholdTree", 1, at(0, 1)),
    "a forest's node less": (FOREST, "ThresholdTree", 3, lambda threshold: threshold[1:]),
    "a forest of words": (FOREST, "ThresholdTree", 3, lambda threshold: threshold.astype("U")),
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
        state = {each.name: getattr(value, each.name) for each in fields(value)} if is_dataclass(value) else vars(value)
        for k, (key, inside) in enumerate(state.items()):
            is_meant = (type(value).__name__, k) == (name, part)
            object.__setattr__(made, key, change(inside) if is_meant else again(inside))
        return made
    return value


@pytest.mark.parametrize("case", MALFORMED)
def test_numbers_that_lead_compiled_code_astray_are_refused(files, place, case):
    kind, name, part, change = MALFORMED[case]
    place.write_bytes(files[kind])
    model = load_model(place)
    place.write_bytes(dumps(changed_records(model, name, part, change)))
    with pytest.raises(DataFileError, match=r"^model: found .* truncated or damaged \("):
        load_model(place)


def test_caches_in_forged_files_of_skops_are_not_kept(files, place):
    X, _ = two_classes()
    for kind, attribute, caches in [
        ("trees", "weak_learners_", ("branches", "_shares", "probabilities")),
        ("InfiniteEnsembleSVC", "_predictor", ("_table", "_lines")),
        (FOREST, "kernel_", ("_passed", "_trees")),
    ]:
        place.write_bytes(files[kind])
        model = load_model(place)
        model.predict(np.abs(X))
        held = getattr(model, attribute)
        record = held[0].tree if attribute == "weak_learners_" else held
        assert any(name in vars(record) for name in caches)
        state = {**record.__getstate__(), **dict.fromkeys(caches, "forged")}
        made = object.__new__(type(record))
        made.__setstate__(state)
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


def test_forged_arrays_are_told_of_or_harmless(files, place):
    X, _ = two_classes()
    outcomes = []
    for family in ("InfiniteEnsembleSVC", "gaussian", "LPBoostClassifier", "RhoSVC", FOREST):
        with zipfile.ZipFile(io.BytesIO(files[family])) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        held = [name for name in members if name.endswith(".npy")]
        # some ten, from the first to the last
        for name in held[:: max(1, len(held) // 10)]:
            for wrong in forged_arrays(np.load(io.BytesIO(members[name]))):
                member = io.BytesIO()
                np.save(member, wrong)
                forged = {name: member.getvalue()}
                place.write_bytes(rewritten(files[family], lambda each, old, forged=forged: forged.get(each, old)))
                # whatever Python raises of a model that is odd, the process goes on
                try:
                    outcomes.append(len(load_model(place).predict(np.abs(X))) == len(X))
                except DataFileError:
                    outcomes.append("refused")
    assert set(outcomes) == {True, "refused"}
