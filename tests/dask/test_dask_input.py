"""What collections may be, and the one error of those that cannot be worked with."""

import re
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_samples import cut, two_classes
from scipy import sparse

from cvxens.dask import DaskInfiniteEnsembleSVC, DaskLPBoostClassifier
from cvxens.errors import InvalidInput

MODELS = DaskLPBoostClassifier(C=0.2), DaskInfiniteEnsembleSVC(C=0.1)


def frames(X, y, npartitions=3):
    """A data frame and a series of unknown chunks."""
    table = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=y), npartitions=npartitions)
    return table[["a", "b"]], table["y"]


@pytest.mark.parametrize("model", MODELS)
def test_a_score_is_that_of_all_rows_whatever_they_come_in(model):
    X, y = two_classes(40, 2)
    weights = np.linspace(0.0, 2.0, 40)
    model.fit(cut(X, [15]), cut(y, [15]))
    right = model.predict(X) == y
    assert 0.5 < model.score(X, y) == right.mean() < 1
    assert model.score(cut(X, [3, 3, 30]), cut(y, [9])) == right.mean()
    assert model.score(*frames(X, y)) == right.mean()
    weighted = model.score(cut(X, [3]), cut(y, [9]), cut(weights, [4]))
    assert weighted == pytest.approx(np.average(right, weights=weights), rel=1e-15)
    assert weighted == model.score(cut(X, [30]), cut(y, [9]), cut(weights, [4]))
    with pytest.raises(InvalidInput, match="X: found no samples of positive weight"):
        model.score(cut(X, []), cut(y, []), cut(0 * weights, []))
    with pytest.raises(InvalidInput, match=r"y: found 40 rows for 39 of X in partition 0; cut y where X is cut"):
        model.score(frames(X[:39], y[:39], 1)[0], frames(X, y, 1)[1])


@pytest.mark.parametrize("model", MODELS)
def test_values_that_are_missing_in_what_is_predicted_are_refused_alike(model):
    X, y = two_classes(40, 2)
    model.fit(cut(X, [15]), cut(y, [15]))
    X[2, 1] = np.nan
    told = r"X: found nan at \[2, 1\]; remove or impute NaN and infinity"
    for given in (X, pd.DataFrame(X), cut(X, [15]), frames(X, y)[0].values, dd.from_pandas(pd.DataFrame(X), 2)):
        for method in (model.predict, model.decision_function):
            with pytest.raises(InvalidInput, match=told):
                np.asarray(method(given))
    with pytest.raises(InvalidInput, match="X: found nan in feature 1 in row 2"):
        model.score(cut(X, [1]), cut(y, [1]))
    holes = pd.DataFrame({"a": pd.array([*range(39), None], "Int64"), "b": 1.0})
    for given in (holes, dd.from_pandas(holes, 1)):
        with pytest.raises(InvalidInput, match=r"X: found nan at \[39, 0\]"):
            np.asarray(model.predict(given))
    rows = cut(np.nan_to_num(X), [15]).map_blocks(sparse.csr_array, meta=np.empty((0, 0)))
    with pytest.raises(InvalidInput, match="X: found a sparse matrix"):
        np.asarray(model.predict(rows))
    with pytest.raises(InvalidInput, match="X: found no numbers in the columns b"):
        model.predict(dd.from_pandas(holes.assign(b="word"), 1))


def test_columns_of_pandas_own_types_are_numbers_unless_one_is_missing():
    X, y = two_classes(40, 2)
    whole = pd.DataFrame(np.rint(10 * X), columns=["a", "b"]).astype("Int64").assign(y=y)
    holes = whole.copy()
    holes.loc[17, "b"] = pd.NA
    table, other = (dd.from_pandas(own, 2) for own in (whole, holes))
    model = DaskLPBoostClassifier(C=0.2).fit(table[["a", "b"]], table["y"])
    plain = DaskLPBoostClassifier(C=0.2).fit(cut(np.rint(10 * X), []), cut(y, []))
    assert model.weights_.tolist() == plain.weights_.tolist()
    assert model.score(table[["a", "b"]], table["y"]) == plain.score(np.rint(10 * X), y)
    with pytest.raises(
        InvalidInput, match=r"X: found nan in feature 1 in row 17 .*; remove or impute NaN and infinity"
    ):
        model.fit(other[["a", "b"]], table["y"])
    with pytest.raises(InvalidInput, match=r"sample_weight: found nan in row 17 .*; give finite weights of 0 or above"):
        model.fit(table[["a", "b"]], table["y"], other["b"].abs())
    for labels in (pd.array([*["u", "v"] * 19, "u", None], "string"), pd.array([0, 1] * 19 + [0, None], "Int64")):
        named = dd.from_pandas(whole.assign(y=labels), 2)
        with pytest.raises(InvalidInput, match=r"y: found None in row 39 .*; give every sample a label, of one type"):
            model.fit(named[["a", "b"]], named["y"])
    mixed = np.array(["u", 1] * 20, object)
    with pytest.raises(InvalidInput, match="y: found labels without an order"):
        model.fit(cut(X, []), cut(mixed, []))


def test_collections_that_do_not_fit_each_other_say_which_and_what_to_do():
    X, y = two_classes(40, 2)
    model, (table, labels) = DaskLPBoostClassifier(C=0.2), frames(X, y, 2)
    told = "y: found 15 rows for 20 of X in partition 0; cut y where X is cut"
    with pytest.raises(InvalidInput, match=told):
        model.fit(table, cut(y, [15]))
    with pytest.raises(
        InvalidInput, match=r"sample_weight: found 15 rows for 20 of X in partition 0; cut sample_weight"
    ):
        model.fit(table, labels, cut(np.ones(40), [15]))
    with pytest.raises(InvalidInput, match="y: found 3 partitions for 2 of X; give both in the same partitions"):
        model.fit(table, frames(X, y, 3)[1])
    for blocks in (sparse.csr_array, sparse.csr_matrix):
        rows = cut(X, [15]).map_blocks(blocks, meta=np.empty((0, 0)))
        with pytest.raises(InvalidInput, match=r"X: found sparse blocks .*; make them dense, such as X\.map_blocks"):
            model.fit(rows, cut(y, [15]))
    words = da.from_array(np.array([["u", "v"]] * 40, object), chunks=(20, 2))
    with pytest.raises(InvalidInput, match="X: found no numbers; code categories as numbers first"):
        model.fit(words, cut(y, [15]))


def test_the_formulation_of_ones_own_in_the_docs_prints_what_stands_below_it(capsys):
    page = (Path(__file__).parents[2] / "docs" / "dask.md").read_text()
    part = page[page.index("## Formulations of your own") :]
    code, expected = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", part, flags=re.DOTALL)[0]
    exec(compile(code, "docs/dask.md", "exec"), {})
    assert capsys.readouterr().out == expected
