"""Samples cut into shards, for the tests of this folder, and all the bits of fits to them."""

import dask.array as da
import numpy as np

from cvxens.dask import ShardedSample, Workers


def cut(values, ends=()):
    """A dask array whose chunks end at these rows."""
    chunks = tuple(np.diff([0, *ends, len(values)]).tolist())
    return da.from_array(values, chunks=(chunks, -1) if values.ndim == 2 else (chunks,))


def sharded(X, y, ends=(), weights=None, **options):
    """A sample whose shards end at these rows."""
    collections = [None if values is None else cut(np.asarray(values), ends) for values in (X, y, weights)]
    return ShardedSample.from_collections(*collections, workers=Workers(), **options)


def fit(model, ends, *rows):
    """A model fitted to X, y and perhaps weights whose chunks end at these rows."""
    return model.fit(*(cut(own, ends) for own in rows))


def two_classes(n=60, d=3, seed=0, noise=0.5):
    """A sample that stumps separate but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = [-1.0, 1.0]
    return X, y


def three_classes(n=60, seed=0):
    """A sample of three named classes, of which the first 10 rows have only two."""
    rng = np.random.default_rng(seed)
    X = np.round(2 * rng.normal(size=(n, 2))) / 2
    scores = np.stack([X[:, 0], X[:, 1], -X.sum(axis=1)], axis=1) + 0.5 * rng.normal(size=(n, 3))
    y = np.array(["oak", "ash", "linden"])[scores.argmax(axis=1)]
    y[:10] = np.where(y[:10] == "linden", "oak", y[:10])
    return X, y


def bits(model):
    """The weights and the certificate of every sub-problem of a fit."""
    found = []
    for part in vars(model).get("estimators_", [model]):
        own = vars(part)
        weights = own["_predictor"].values if "_predictor" in own else own["weights_"]
        certificate = part.certificate_
        numbers = certificate.primal, certificate.dual, certificate.rounding, certificate.residuals
        found.append((own.get("weak_learners_"), weights.tolist(), float(part.intercept_), numbers))
    return found
