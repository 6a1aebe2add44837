"""Files are written whole or not at all, at places that can have them."""

import os
from pathlib import Path

import pytest

from cvxens.errors import DataFileError, InvalidInput
from cvxens.storage import as_path, check_place, write_whole


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    write_whole("file", tmp_path / "file", b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataFileError, match=r"^file: .*cannot be written .*No space left"):
        write_whole("file", tmp_path / "file", b"after")
    assert (tmp_path / "file").read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


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
