"""Files of plain arrays: whole, or refused with one error."""

import hashlib
import io
import os
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cvxens.errors import DataFileError
from cvxens.storage import FileKind

KIND = FileKind("sample", 3, "write it anew")
ARRAYS = {
    "x": np.arange(6.0).reshape(2, 3),
    "by_columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "names": np.array(["a", "bc"]),
    "empty": np.zeros((0, 3)),
    "one": np.array(True),
}


@pytest.fixture
def path(tmp_path):
    KIND.write(tmp_path / "file", ARRAYS)
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
    read = KIND.read(path)
    assert read.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert read[name].flags.f_contiguous == array.flags.f_contiguous
        assert read[name].flags.writeable
        assert_array_equal(read[name], array)


def test_what_is_not_plain_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="x of type object"):
        KIND.write(tmp_path / "file", {"x": np.array([None])})
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
        KIND.write(path, {"x": np.zeros(3)})
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
