"""What collections may be, and the one error of those that cannot be worked with."""

import re
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_samples import cut, fit, two_classes
from scipy import sparse

from cvxens.dask import DaskInfiniteEnsembleSVC, DaskLPBoostClassifier, ShardedSample, Workers
from cvxens.errors import InvalidInput

MODELS = DaskLPBoostClassifier(C=0.2), DaskInfiniteEnsembleSVC(C=0.1)

X, y = two_classes(40, 2)

WHOLE = pd.DataFrame(np.rint(10 * X), columns=["a", "b"]).astype("Int64").assign(y=y)

HOLES = WHOLE.assign(b=WHOLE["b"].mask(WHOLE.index == 17))

WORDS = [*["u", "v"] * 19, "u", None]


def frames(X, y, npartitions=3):
    """A data frame and a series of unknown chunks."""
    table = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=y), npartitions=npartitions)
    return table[["a", "b"]], table["y"]


def changed(values, place, value):
    """A copy with another value in a place."""
    values = values.copy()
    values[place] = value
    return values


def in_blocks(blocks):
    return cut(X, [15]).map_blocks(blocks, meta=np.empty((0, 0)))


def list_faults():
    """Collections that cannot be worked with, by what is told of them."""
    five, labels, table = cut(y, [5]), cut(y, [15]), frames(X, y, 2)
    return {
        "X: found nan in feature 1 in row 7 ": (cut(changed(X, (7, 1), np.nan), [5]), five),
        "X: found inf in feature 0 in row 9 ": (cut(changed(X, (9, 0), np.inf), [5]), five),
        "y: found nan in row 8 ": (cut(X, [5]), cut(changed(y, 8, np.nan), [5])),
        "y: found 1 classes": (cut(X, [5]), cut(np.ones(40), [5])),
        "y: found more than 100 classes of positive weight: 0, 1, 2, 3": (cut(np.eye(101)), cut(np.arange(101))),
        "X: found constant features only": (cut(np.ones((40, 2)), [5]), five),
        "X: found ndarray": (X, y),
        "y: found 2 dimensions": (cut(X), cut(X)),
        "y: found 35 rows for 40": (cut(X, [2]), cut(y[:35], [1])),
        "y: found 15 rows for 20 of X in partition 0; cut y where X is cut": (table[0], labels),
        "sample_weight: found 15 rows for 20 of X in partition 0; cut sample_weight": (*table, cut(np.ones(40), [15])),
        "y: found 3 partitions for 2 of X; give both in the same partitions": (table[0], frames(X, y, 3)[1]),
        r"X: found sparse blocks .*; make them dense, such as X\.map_blocks": (in_blocks(sparse.csr_array), labels),
        r"X: found sparse blocks \(csr_matrix": (in_blocks(sparse.csr_matrix), labels),
        "X: found no numbers; code categories as numbers first": (cut(X.astype(str).astype(object)), labels),
        r"X: found nan in feature 1 in row 17 .*; remove or impute NaN and infinity": (
            dd.from_pandas(HOLES[["a", "b"]], 2),
            dd.from_pandas(WHOLE["y"], 2),
        ),
        r"sample_weight: found nan in row 17 .*; give finite weights of 0 or above": (
            *table,
            dd.from_pandas(HOLES["b"].abs(), 2),
        ),
        r"y: found None in row 39 .*; give every sample a label, of one type": frames(X, pd.array(WORDS, "string"), 2),
        r"y: found None in row 39 .*": frames(X, pd.array([*[0, 1] * 19, 0, None], "Int64"), 2),
        "y: found labels without an order": (cut(X), cut(np.array(["u", 1] * 20, object))),
    }


def test_what_cannot_be_worked_with_is_one_error_with_the_row_in_the_whole():
    for told, rows in list_faults().items():
        with pytest.raises(InvalidInput, match=told):
            ShardedSample.from_collections(*rows, workers=Workers())


@pytest.mark.parametrize("model", MODELS)
def test_a_score_is_that_of_all_rows_whatever_they_come_in(model):
    weights = np.linspace(0.0, 2.0, 40)
    fit(model, [15], X, y)
    right = model.predict(X) == y
    assert 0.5 < model.score(X, y) == right.mean() < 1
    assert model.score(cut(X, [3, 3, 30]), cut(y, [9])) == right.mean()
    assert model.score(*frames(X, y)) == right.mean()
    weighted = model.score(cut(X, [3]), cut(y, [9]), cut(weights, [4]))
    assert weighted == pytest.approx(np.average(right, weights=weights), rel=1e-15)
    assert weighted == model.score(cut(X, [30]), cut(y, [9]), cut(weights, [4]))
    with pytest.raises(InvalidInput, match="X: found no samples of positive weight"):
        model.score(cut(X), cut(y), cut(0 * weights))
    with pytest.raises(InvalidInput, match=r"y: found 40 rows for 39 of X in partition 0; cut y where X is cut"):
        model.score(frames(X[:39], y[:39], 1)[0], frames(X, y, 1)[1])


@pytest.mark.parametrize("model", MODELS)
def test_values_that_are_missing_in_what_is_predicted_are_refused_alike(model):
    fit(model, [15], X, y)
    gone = changed(X, (2, 1), np.nan)
    told = r"X: found nan at \[2, 1\]; remove or impute NaN and infinity"
    for given in (gone, pd.DataFrame(gone), cut(gone, [15]), frames(gone, y)[0].values, frames(gone, y, 2)[0]):
        for method in (model.predict, model.decision_function):
            with pytest.raises(InvalidInput, match=told):
                np.asarray(method(given))
    with pytest.raises(InvalidInput, match="X: found nan in feature 1 in row 2"):
        model.score(cut(gone, [1]), cut(y, [1]))
    holes = pd.DataFrame({"a": pd.array([*range(39), None], "Int64"), "b": 1.0})
    for given in (holes, dd.from_pandas(holes, 1)):
        with pytest.raises(InvalidInput, match=r"X: found nan at \[39, 0\]"):
            np.asarray(model.predict(given))
    with pytest.raises(InvalidInput, match="X: found a sparse matrix"):
        np.asarray(model.predict(in_blocks(sparse.csr_array)))
    with pytest.raises(InvalidInput, match="X: found no numbers in the columns b"):
        model.predict(dd.from_pandas(holes.assign(b="word"), 1))


def test_columns_of_pandas_own_types_are_numbers():
    table = dd.from_pandas(WHOLE, 2)
    model = DaskLPBoostClassifier(C=0.2).fit(table[["a", "b"]], table["y"])
    plain = fit(DaskLPBoostClassifier(C=0.2), [], np.rint(10 * X), y)
    assert model.weights_.tolist() == plain.weights_.tolist()
    assert model.score(table[["a", "b"]], table["y"]) == plain.score(np.rint(10 * X), y)


def test_the_formulation_of_ones_own_in_the_docs_prints_what_stands_below_it(capsys):
    page = (Path(__file__).parents[2] / "docs" / "dask.md").read_text()
    part = page[page.index("## Formulations of your own") :]
    code, expected = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", part, flags=re.DOTALL)[0]
    exec(compile(code, "docs/dask.md", "exec"), {})
    assert capsys.readouterr().out == expected
