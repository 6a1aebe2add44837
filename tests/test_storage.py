"""Files of plain arrays and JSON: whole, or refused with one error; values are read as they were written."""

import hashlib
import io
import json
import os
import zipfile
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cvxens.errors import DataFileError, InvalidInput
from cvxens.storage import (
    Encoding,
    FileKind,
    as_path,
    check_place,
    loaded,
    loaded_record,
    nothing_else,
    qualified_name,
)
from cvxens.trees import Feature

KIND = FileKind("sample", 3, "write it anew")
HEADER = {"seed": 3, "names": ["a"]}
ARRAYS = {
    "x": np.arange(6.0).reshape(2, 3),
    "by_columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "names": np.array(["a", "bc"]),
    "empty": np.zeros((0, 3)),
    "one": np.array(True),
}


@pytest.fixture
def path(tmp_path):
    KIND.write(tmp_path / "file", HEADER, ARRAYS)
    return tmp_path / "file"


def signed(payload, kind="sample", version=3):
    """A file whose digest is right, whatever it holds."""
    return f"cvxens {kind} {version} {hashlib.sha256(payload).hexdigest()}\n".encode() + payload


def archive(compression=zipfile.ZIP_STORED, **members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return packed.getvalue()


def npy(shape, content, descr="<f8", version=(1, 0)):
    member = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    write = np.lib.format.write_array_header_1_0 if version == (1, 0) else np.lib.format.write_array_header_2_0
    write(member, header)
    return member.getvalue() + content


def pickled():
    member = io.BytesIO()
    np.save(member, np.array([os.getcwd, None]), allow_pickle=True)
    return member.getvalue()


def test_arrays_are_read_as_they_were_written(path):
    header, read = KIND.read(path)
    assert header == HEADER
    assert read.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert read[name].flags.f_contiguous == array.flags.f_contiguous
        assert read[name].flags.writeable
        assert_array_equal(read[name], array)


def test_what_is_not_plain_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="x of type object"):
        KIND.write(tmp_path / "file", {}, {"x": np.array([None])})
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_is_told_of(path, data):
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.booleans())
    flipped = bytes([whole[at] ^ data.draw(st.integers(1, 255))])
    damaged = path.with_name("damaged")
    damaged.write_bytes(whole[:at] if cut else whole[:at] + flipped + whole[at + 1 :])
    with pytest.raises(DataFileError, match=r"^sample: found (no sample in|version \d+ of|.* truncated or damaged)"):
        KIND.read(damaged)


FORGED = {
    "no archive": (b"nothing", "not a zip"),
    "a pickled object": (archive(x=pickled()), "type object"),
    "more than its bytes": (archive(x=npy((10**12,), b"\0" * 8)), "bytes"),
    "less than its bytes": (archive(x=npy((1,), b"\0" * 80)), "bytes"),
    "a negative shape": (archive(x=npy((-1, -1), b"\0" * 8)), "truncated or damaged"),
    "an overflowing shape": (archive(x=npy((2**40, 2**40), b"")), "bytes"),
    "a compressed member": (archive(zipfile.ZIP_DEFLATED, x=npy((10**6,), b"\0" * 8 * 10**6)), "larger"),
    "a small compressed member": (archive(zipfile.ZIP_DEFLATED, x=npy((3,), bytes(range(24)))), "compressed"),
    "a member that is no array": (archive(x=b"text"), "truncated or damaged"),
    "an array of another format": (archive(x=npy((1,), b"\0" * 8, version=(2, 0))), "later versions"),
    "no header": (archive(x=npy((1,), b"\0" * 8)), "header"),
    "a header that is no JSON": (archive(header=npy((1,), b"{", "|u1")), "property name"),
    "a deep header": (archive(header=npy((10**5,), b"[" * 10**5, "|u1")), "recursion"),
    "code in a header": (archive(x=npy((1,), b"\0" * 8).replace(b"'<f8'", b"f(3) ")), "truncated or damaged"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_files_run_nothing(tmp_path, case):
    payload, why = FORGED[case]
    (tmp_path / "file").write_bytes(signed(payload))
    with pytest.raises(DataFileError, match=r"^sample: found .* truncated or damaged \(.*; write it anew") as refused:
        KIND.read(tmp_path / "file")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no sample in"),
        (b"a,b\n1,2\n", "no sample in"),
        (signed(b"", kind="other"), "no sample in"),
        (signed(b"", version=4), "version 4 of the format .* this one writes version 3"),
        (b"cvxens sample " + b"9" * 5000 + b" " + b"0" * 64 + b"\n", "no sample in"),
    ],
)
def test_foreign_files_are_refused(tmp_path, content, message):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataFileError, match=message):
        KIND.read(tmp_path / "file")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataFileError, match=r"cannot be read \(.*No such file"):
        KIND.read(tmp_path / "file")


def test_a_failed_write_leaves_the_file_as_it_was(path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataFileError, match=r"cannot be written .*No space left"):
        KIND.write(path, {}, {"x": np.zeros(3)})
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


PLAIN = Encoding(nothing_else, nothing_else)


class Pair(NamedTuple):
    first: object
    second: object


def again(value, encoding=PLAIN):
    return encoding.read(json.loads(json.dumps(encoding.write(value))))


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda parts: (
        st.lists(parts)
        | st.lists(parts).map(tuple)
        | st.dictionaries(st.text() | st.integers(), parts)
        | st.builds(Pair, parts, parts)
    ),
    max_leaves=10,
)


def same(a, b):
    """Whether values are equal and of equal types, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


@settings(deadline=None, max_examples=100)
@given(VALUES)
def test_values_are_read_as_they_were_written(value):
    assert same(again(value), value)


@pytest.mark.parametrize("value", [inf, (1.0, -0.0), {"state": 2**100}, {1: "a", 2.5: "b"}, Feature("x", ("a", "b"))])
def test_odd_values_too(value):
    assert same(again(value), value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array(2.5),
        np.zeros((0, 2)),
        np.array([True]),
        np.array([np.nan, -0.0]),
        np.array(["no", "maybe"]),
        np.array(["no", 3, None, 2.5], object),
        np.array([["a", "b"]], object),
        np.arange(4, dtype=np.uint8),
    ],
)
def test_arrays_in_text_are_read_as_they_were_written(array):
    read = again(array)
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    assert_array_equal(read, array)


def test_arrays_beside_the_text_are_not_in_it():
    arrays = {}
    written = Encoding(nothing_else, nothing_else, arrays=arrays).write([np.arange(3), (np.zeros(2),)])
    assert written == {"list": [{"array": "array 0"}, {"tuple": [{"array": "array 1"}]}]}
    assert_array_equal(Encoding(nothing_else, nothing_else, arrays=arrays).read(written)[0], np.arange(3))


@pytest.mark.parametrize(
    "value", [np.float64(0.1), np.float32(0.1), np.int8(3), np.True_, np.str_("a"), np.float64(inf)]
)
def test_numbers_of_numpy_keep_their_type(value):
    assert same(again(value), value)


def test_what_is_not_plain_is_refused():
    with pytest.raises(TypeError, match="set is not made of"):
        PLAIN.write({1})
    with pytest.raises(TypeError, match="set is not made of"):
        PLAIN.write(np.array([{1}], object))
    with pytest.raises(TypeError, match="not made of"):
        PLAIN.write(np.array(["2020-01-01"], "datetime64[D]"))


@pytest.mark.parametrize(
    "name", ["os:system", "os:path.join", "os", "os:", ":", "nowhere:Thing", "cvxens.storage:Path", "json:loads"]
)
def test_only_records_are_found(name):
    with pytest.raises(TypeError, match="is not a dataclass at the top of a loaded module"):
        PLAIN.read({"record": name, "of": ["true"]})


def test_a_record_is_known_by_its_own_name_only():
    assert loaded_record(qualified_name(Feature)) is Feature
    with pytest.raises(TypeError, match="is not a dataclass"):
        loaded_record(f"{__name__}:Feature")


def test_what_is_loaded():
    assert loaded("os:path.join") is os.path.join
    assert loaded("os:path.nothing") is None
    assert loaded("nowhere:path") is None


@pytest.mark.parametrize("kind", [str, Path])
def test_paths_are_paths(tmp_path, kind):
    (tmp_path / "file").touch()
    for name in ("file", "new"):
        assert check_place("path", kind(tmp_path / name)) == tmp_path / name


def test_the_home_directory_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert as_path("path", "~/model") == tmp_path / "model"


@pytest.mark.parametrize("path", [3, None, b"model", ["model"], "~nobody of this name/model"])
def test_what_is_no_path(path):
    for use in (as_path, check_place):
        with pytest.raises(InvalidInput, match=r"^path: found .*; (give the path of a|name a) file"):
            use("path", path)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (".", "found a folder at"),
        ("file/model", "found no folder for it at"),
        ("nowhere/model", "found no folder for it at"),
        ("x" * 300, r"which cannot be written \(File name too long\)"),
        ("a\0b", r"which cannot be written \(embedded null"),
    ],
)
def test_places_that_no_file_can_have(tmp_path, name, found):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=f"^--out: .*{found}"):
        check_place("--out", tmp_path / name)
