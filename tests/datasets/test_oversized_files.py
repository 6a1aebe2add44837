"""Files that are small and hold much: refused before it is all in memory."""

import bz2
import gzip
import lzma
import pickle
import struct
import tracemalloc
import zipfile
from io import BytesIO

import numpy as np
import pytest

from cvxens import load_model, storage
from cvxens.colgen import Checkpoint, column_generation, formulations, oracles
from cvxens.colgen.checkpoint import read_record
from cvxens.datasets import load_file, reading
from cvxens.errors import DataFileError
from cvxens.storage import Oversized, inflation_limit, read_bounded, read_file

MEBIBYTE = 2**20

ROOM = 32 * MEBIBYTE
"""What a refusal may take; the bombs hold more than a GiB."""


def refusal(read, room=ROOM):
    """What is said of a file, which takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError) as caught:
            read()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.remedy
    assert peak < room
    return str(caught.value)


def header(shape, dtype="<f8", version=(1, 0)):
    start = BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    write = {(1, 0): np.lib.format.write_array_header_1_0, (2, 0): np.lib.format.write_array_header_2_0}[version]
    write(start, described)
    return start.getvalue()


@pytest.fixture(scope="module")
def gibibyte_of_zeros():
    """A raw deflate stream of a GiB, as one block repeated."""
    import zlib

    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = bytes(MEBIBYTE)
    # after a full flush blocks do not refer to what was before: all but the first are alike
    first = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + 1023 * again


def zip_of(members):
    """An archive of (name, declared size, raw deflate stream), with the sizes that are said."""
    parts, directory, offset = [], [], 0
    for name, size, packed in members:
        fields = (20, 0, 8, 0, 0, 0, len(packed), size, len(name), 0)
        local = struct.pack("<4s5H3L2H", b"PK\3\4", *fields) + name.encode() + packed
        directory.append(struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *fields[:-1], 0, 0, 0, 0, 0, offset) + name.encode())
        parts.append(local)
        offset += len(local)
    listed = b"".join(directory)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(directory), len(directory), len(listed), offset, 0)
    return b"".join(parts) + listed + end


def deflated(content):
    import zlib

    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)


def test_an_archive_that_declares_a_gibibyte(tmp_path, gibibyte_of_zeros):
    start = header((2**17, 1024))
    X = start + bytes(-len(start) % 64)
    content = zip_of([("X.npy", len(X) + 2**30, deflated(X) + gibibyte_of_zeros)])
    path = tmp_path / "bomb.npz"
    path.write_bytes(content)
    assert len(content) < 2 * MEBIBYTE
    assert "declared arrays of 1,024 MiB, where the limit is" in refusal(lambda: load_file(path))


def test_an_archive_that_declares_less_than_it_holds(tmp_path, gibibyte_of_zeros):
    start = header((2, 1))
    content = zip_of([("X.npy", len(start) + 16, deflated(start) + gibibyte_of_zeros)])
    (tmp_path / "liar.npz").write_bytes(content)
    assert "cannot be read" in refusal(lambda: load_file(tmp_path / "liar.npz"))


@pytest.mark.parametrize(
    ("start", "word"),
    [
        (header((2**40, 2**40)), "of shape"),
        (header((0, 2**60), "<f8"), "of shape"),
        (header((2**40,), "<U0"), "not plain"),
        (header((1,), "<U536870911"), "of shape"),
        (header((3,), "|O"), "not plain"),
        (header((3,), [("a", "<f8")]), "not plain"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<L", 2**31 - 1) + b" " * 100, "header"),
        (pickle.dumps([1, 2]), "magic"),
    ],
)
def test_arrays_that_are_not_what_they_declare(tmp_path, start, word):
    path = tmp_path / "forged.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", start + bytes(8))
        archive.writestr("y.npy", header((2,)) + bytes(16))
    message = refusal(lambda: load_file(path))
    assert "cannot be read" in message
    assert word in message


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_inflates_to_much(tmp_path, pack):
    path = tmp_path / "bomb.csv"
    # members of a compressed file may follow each other
    path.write_bytes(16 * pack(b"a,b\n" + bytes(8 * MEBIBYTE)))
    assert "inflates to more than 64 MiB" in refusal(lambda: load_file(path), room=3 * 64 * MEBIBYTE)


def test_what_is_within_a_compressed_file_counts_by_the_size_of_that(tmp_path, gibibyte_of_zeros):
    start = header((2**17, 1024))
    path = tmp_path / "bomb.npz.gz"
    path.write_bytes(gzip.compress(zip_of([("X.npy", len(start) + 2**30, deflated(start) + gibibyte_of_zeros)])))
    assert path.stat().st_size < MEBIBYTE / 10
    assert "declared arrays of 1,024 MiB, where the limit is 256 MiB" in refusal(lambda: load_file(path))


def test_a_parquet_table_of_few_bytes_and_many_values(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    zeros = pa.array(np.zeros(2**20))
    table = pa.table({f"x{j}": zeros for j in range(40)})
    path = tmp_path / "bomb.parquet"
    parquet.write_table(table, path)
    assert path.stat().st_size < MEBIBYTE / 2
    assert "with a packed table of" in refusal(lambda: load_file(path))


def test_a_table_whose_cells_take_more_than_is_left(tmp_path, monkeypatch):
    path = tmp_path / "cells.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    monkeypatch.setattr(reading, "available_memory", lambda: 100_000)
    assert "cells, which take" in refusal(lambda: load_file(path))


@pytest.mark.parametrize(
    "read",
    [
        load_file,
        load_model,
        lambda path: column_generation(
            formulations.soft_margin(1.0), oracles.Stumps([[0.0], [1.0]]), [1, -1], checkpoint=Checkpoint(path)
        ),
    ],
)
def test_a_file_without_end(monkeypatch, read):
    monkeypatch.setattr(storage, "available_memory", lambda: 8 * MEBIBYTE)
    refusal(lambda: read("/dev/zero"))


def test_files_larger_than_what_is_left(tmp_path, monkeypatch):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)
    assert "MiB" in refusal(lambda: load_file(path))
    assert "no checkpoint in" in refusal(lambda: read_record(path))
    with path.open("r+b") as file:
        file.write(b"cvxens checkpoint 5 " + b"0" * 64 + b"\n")
    assert "cannot be read" in refusal(lambda: read_record(path))


@pytest.mark.parametrize("dtype", [np.float64, np.uint8, bool, "<U3"])
def test_what_is_no_bomb_is_read(tmp_path, dtype):
    X = np.arange(12).reshape(4, 3).astype(np.float64)
    np.savez_compressed(tmp_path / "fine.npz", X=X, y=np.array([0, 1, 0, 1]).astype(dtype), spare=np.zeros(100_000))
    assert (load_file(tmp_path / "fine.npz").X == X).all()


def test_limits():
    with pytest.raises(Oversized, match="more than 0 MiB"):
        read_bounded(BytesIO(bytes(5)), 4)
    assert read_bounded(BytesIO(bytes(5)), 5) == bytes(5)
    assert inflation_limit(10**18) == pytest.approx(storage.room(), rel=0.1)


def test_a_file_is_read_whole(tmp_path):
    content = np.random.default_rng(0).bytes(3 * MEBIBYTE + 17)
    (tmp_path / "some").write_bytes(content)
    assert read_file(tmp_path / "some") == content
