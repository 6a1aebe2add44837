"""Files of every estimator, damaged at random: always one error, or a model; nothing else is raised, nothing is run."""

import copy
import hashlib
import io
import os
import zipfile
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, is_classifier
from skops.io import dumps, loads

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier, estimators, load_model
from cvxens.errors import CvxensError, DataFileError
from cvxens.estimators import TRUSTED_TYPES
from cvxens.estimators.saving import FILE

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
    for model in (LPBoostClassifier(tol=0.1), InfiniteEnsembleSVC(multi_class="ovo")):
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


@PATIENT
@given(st.data())
def test_damage_is_always_told_of(files, place, data):
    content = files[data.draw(st.sampled_from(sorted(files)))]
    place.write_bytes(drawn_damage(data, content))
    with pytest.raises(DataFileError, match=r"^model: found (no model in|version \d+ of|.* truncated or damaged)"):
        load_model(place)


def is_told_of_or_harmless(place):
    """Whether there is the one error that there should be, or a model."""
    try:
        return isinstance(load_model(place), tuple(KINDS))
    except DataFileError as error:
        return str(error).startswith("model: found ")


@PATIENT
@given(st.data())
def test_damage_under_a_digest_that_fits_is_told_of_or_harmless(files, place, data):
    first_line, _, payload = files[data.draw(st.sampled_from(sorted(files)))].partition(b"\n")
    damaged = drawn_damage(data, payload)
    digest = hashlib.sha256(damaged).hexdigest().encode()
    place.write_bytes(first_line.rpartition(b" ")[0] + b" " + digest + b"\n" + damaged)
    assert is_told_of_or_harmless(place)


RUNS = {"other": {"name": "os:system"}}
PLAIN = st.sampled_from([None, True, 0, -1, 10**30, 1e308, "", "x", [], {}, [1], [[]]])
TAGGED = st.sampled_from(
    [
        *(
            {"tuple": []},
            {"list": [1]},
            {"dict": [{"tuple": [1, 2]}]},
            {"dict": [{"list": [{"list": []}, 1]}]},
            {"dict": [1]},
        ),
        *({"array": "array 0"}, {"array": 0}, {"array": []}, {"floats": "abc"}, {"floats": "\xfc"}, {"floats": "AAAA"}),
        *(
            {"scalar": "<f8", "of": "x"},
            {"scalar": "<U1", "of": 3},
            {"scalar": "?!", "of": 3},
            {"scalar": "<i8", "of": {}},
        ),
        *({"objects": [1, 2], "shape": [3]}, {"objects": [1], "shape": ["x"]}, {"objects": [], "shape": [-1, 0]}),
        *({"record": "cvxens.types:Attempt", "of": [1]}, {"record": "kernels.Sum", "of": [1]}),
        *({"record": "trees.Tree", "of": [1, 2, 3]}, {"record": "os:stat_result", "of": [[]]}),
        *({"record": "solvers.AdditiveModel", "of": [1, 2, 3, 4]}, {"record": ":", "of": []}),
        *({"other": None}, RUNS, {"other": {"partial": [RUNS, {"tuple": ["true"]}, {"dict": []}]}}),
        *({"other": {"matrix": "csr", "of": [1, 2, 3, 4]}}, {"other": {"estimator": "os:system", "of": {}}}),
        *({"other": {"estimator": "estimators.LPBoostClassifier", "of": {}}},),
    ]
)


def places(written, path=()):
    """The way to everything in a JSON document."""
    yield path
    inside = written.items() if isinstance(written, dict) else enumerate(written) if isinstance(written, list) else ()
    for key, value in inside:
        yield from places(value, (*path, key))


def changed(data, header):
    """The header with something else somewhere, or without something."""
    *way, last = data.draw(st.sampled_from([path for path in places(header) if path]), "place")
    holder = header
    for key in way:
        holder = holder[key]
    if data.draw(st.booleans(), "left out"):
        del holder[last]
    else:
        holder[last] = data.draw(PLAIN | TAGGED)
    return header


@PATIENT
@given(st.data())
def test_forged_text_is_told_of_or_harmless(files, place, data):
    place.write_bytes(files[data.draw(st.sampled_from(sorted(files)))])
    header, arrays = FILE.read(place)
    FILE.write(place, changed(data, header), arrays)
    assert is_told_of_or_harmless(place)


def record_in(written, name):
    """The first record of a name in a JSON document."""
    for path in places(written):
        found = written
        for key in path:
            found = found[key]
        if isinstance(found, dict) and str(found.get("record")).endswith(name):
            return found
    raise LookupError(name)


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


@pytest.mark.parametrize("case", MALFORMED)
def test_numbers_that_lead_compiled_code_astray_are_refused(files, place, case):
    kind, name, part, change = MALFORMED[case]
    place.write_bytes(files[kind])
    header, arrays = FILE.read(place)
    key = record_in(header, name)["of"][part]["array"]
    arrays[key] = change(arrays[key])
    FILE.write(place, header, arrays)
    with pytest.raises(DataFileError, match=r"^model: found .* truncated or damaged \("):
        load_model(place)


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
def test_skops_refuses_these_too(files, place, case):
    kind, name, part, change = MALFORMED[case]
    place.write_bytes(files[kind])
    model = load_model(place)
    assert type(loads(dumps(model), trusted=TRUSTED_TYPES)) is type(model)
    forged = dumps(changed_records(model, name, part, change))
    with pytest.raises((ValueError, IndexError, TypeError)):
        loads(forged, trusted=TRUSTED_TYPES)


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


def test_skops_files_are_whole_or_raise(files, place):
    X, _ = two_classes()
    outcomes = []
    for family in ("InfiniteEnsembleSVC", "gaussian", "LPBoostClassifier", "RhoSVC", FOREST):
        place.write_bytes(files[family])
        written = dumps(load_model(place))
        with zipfile.ZipFile(io.BytesIO(written)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        held = [name for name in members if name.endswith(".npy")]
        # some ten, from the first to the last
        for name in held[:: max(1, len(held) // 10)]:
            for wrong in forged_arrays(np.load(io.BytesIO(members[name]))):
                member, packed = io.BytesIO(), io.BytesIO()
                np.save(member, wrong)
                with zipfile.ZipFile(packed, "w") as archive:
                    for other, content in members.items():
                        archive.writestr(other, member.getvalue() if other == name else content)
                # whatever Python raises, the process goes on
                try:
                    outcomes.append(len(loads(packed.getvalue(), trusted=TRUSTED_TYPES).predict(np.abs(X))) == len(X))
                except Exception:
                    outcomes.append("raised")
    assert set(outcomes) == {True, "raised"}


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


def forged_values(written):
    """Values of other types for whatever there is of an estimator at the top and one step below."""
    others = [None, True, -1, 0.5, "x", {"tuple": []}, {"tuple": ["a"]}, {"list": [1]}, {"dict": []}, 10**30]
    ways = [path for path in places(written["of"]) if 0 < len(path) <= 4 and written["of"].get(path[0]) is not None]
    for k, path in enumerate(ways):
        yield path, others[k % len(others)]
        yield path, ABSENT


ABSENT = object()
USES = ("decision_function", "predict", "predict_proba", "to_text", "feature_importances_")


def use(model, X, y, *more):
    """Whatever a model can do; errors other than ours are raised."""
    for name in (*USES, *more):
        try:
            found = getattr(model, name, None)
            if callable(found):
                found(*{"certify": (X, y), "to_text": ()}.get(name, (X,)))
        except CvxensError:
            # a parameter that is no such thing any more is told of as it is in a fit
            pass


FAMILIES = [
    *("LPBoostClassifier", "AdaBoostClassifier", "AdaBoostMHClassifier", "CGEnsSLSClassifier", "MultiBoostClassifier"),
    *("InfiniteEnsembleSVC", "InfiniteEnsembleSVCCV", "RhoSVC", "PartialSVMEnsembleClassifier", FOREST),
    *("trees", "gaussian", "decision-tree", "InfiniteEnsembleSVC of three", "LPBoostClassifier of three"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_file_is_whole_or_refused(files, place, family):
    X, y = three_classes() if family.endswith("three") else two_classes()
    X = np.abs(X)
    place.write_bytes(files[family])
    y = y if is_classifier(load_model(place)) else np.unique(y, return_inverse=True)[1]
    header, arrays = FILE.read(place)
    forged = [(header, arrays | {name: wrong}) for name in arrays for wrong in forged_arrays(arrays[name])]
    for path, value in forged_values(header):
        document = copy.deepcopy(header)
        holder = document["of"]
        for key in path[:-1]:
            holder = holder[key]
        if value is ABSENT:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
        forged.append((document, arrays))
    step, refused = max(1, len(forged) // (8 if family == "trees" else 25)), 0
    for content in forged[::step]:
        try:
            place.write_bytes(b"")
            FILE.write(place, *content)
            model = load_model(place)
        except DataFileError as error:
            refused += str(error).startswith("model: found ")
        else:
            # those whose certificates take no column generation
            use(model, X, y, *(["certify"] if family in {"InfiniteEnsembleSVC of three", "gaussian"} else []))
    assert refused > 0
