"""Running the command line in this process and in another one, and files for it to read."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from cvxens.cli import main
from cvxens.datasets import make_twonorm


def run(capsys, *arguments, command=main):
    """Exit status, standard output and standard error of `cvxens ARGUMENTS`, or of another command."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        command([str(argument) for argument in arguments])
    written = capsys.readouterr()
    return ended.value.code, written.out, written.err


def python(*arguments, **options):
    """The finished process of `python ARGUMENTS`."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def small(n_samples=24, n_features=2):
    X, y = make_twonorm(n_samples, n_features, random_state=3)
    return np.round(X, 2), y


def write_csv(path, X, y):
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "class"])
    lines = [",".join([*map(repr, map(float, x)), "good" if s > 0 else "bad"]) for x, s in zip(X, y, strict=True)]
    path.write_text("\n".join([names, *lines]) + "\n")
    return path


def write_libsvm(path, X, y):
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def write_npz(path, X, y):
    np.savez(path, X=X, y=y.astype(np.int64))
    return path


def fit(capsys, data, *parameters, model="LPBoostClassifier"):
    """The file of a model that `cvxens fit` made with these parameters, beside its data."""
    out = data.with_name("model")
    given = [part for parameter in parameters for part in ("--param", parameter)]
    assert run(capsys, "fit", data, "--model", model, *given, "--out", out)[0] == 0
    return out
