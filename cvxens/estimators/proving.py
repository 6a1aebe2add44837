"""Proofs of fitted classifiers in rational numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from sklearn.base import BaseEstimator

from cvxens.colgen import column_generation
from cvxens.colgen.loop import state_set
from cvxens.errors import InvalidInput
from cvxens.estimators.base import multipliers_of_fit
from cvxens.proofs import Layout, Proof, prove


def prove_fit(
    model: BaseEstimator,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    as_fitted: bool = False,
    tol: float | None = None,
    max_time: float = inf,
    layout: Layout | None = None,
) -> Proof:
    """Prove in rational numbers how far a classifier is from the optimum on a sample of two classes.

    Of an ensemble over all stumps, of a machine over all functions of its kernel.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features, as in `fit`: of a column with gaps the proof of an ensemble has two features, by which missing values
        are below all thresholds or above, and of one of categories an indicator for each.
    y : array-like of shape (n_samples,)
        The two classes.
    sample_weight : array-like of shape (n_samples,), optional
        As in `fit`, where that takes them; above 0.
    as_fitted : bool
        True for a proof of how far the model is from the optimum as it was fitted, by its ``dual_weights_``, of the
        sample of the fit; False for one of the best model, which is found over the rationals where the formulation is a
        linear program.
    tol : float, optional
        The relative gap at which the run in floats stops that the proof starts from: 1e-9, and of an ensemble of more
        than 10,000 samples 1e-8.
    max_time : float
        The seconds at which it stops.
    layout : cvxens.proofs.Layout, optional
        Where the numbers stand in the data file that the proof is checked against.

    Returns
    -------
    cvxens.proofs.Proof
        `save` writes it, and the data, for `cvxens check`. But for the kernel of stumps that of a machine goes through
        all pairs of samples.

    Raises
    ------
    InvalidInput
        Weak learners that no exact proof can name, a kernel but that of stumps, of perceptrons, the Laplacian and the
        Gaussian one; more than two classes; a weight of 0.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import InfiniteEnsembleSVC, LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> proof = LPBoostClassifier(C=0.05).fit(X, y).prove(X, y)
    >>> float(proof.objective), proof.gap
    (4.458134490238612, Fraction(0, 1))
    >>> proof = InfiniteEnsembleSVC(C=0.01).fit(X[:100], y[:100]).prove(X[:100], y[:100])
    >>> 0 <= proof.relative_gap < 1e-8
    True
    """
    sample = model._read_again(X, y, sample_weight=sample_weight)
    if len(sample.classes) != 2:
        found = f"found {len(sample.classes)} classes"
        raise InvalidInput("y", found, "give two: prove the parts of `estimators_` one by one, each on its classes")
    if not sample.shares.all():
        raise InvalidInput("sample_weight", "found a weight of 0", "leave those samples out of X and y")
    negative, positive = map(str, sample.classes.tolist())

    def lay_out(width: int) -> Layout:
        return layout or Layout.of_width(width, (negative, positive))

    u = multipliers_of_fit(model, len(sample.X)) if as_fitted else None
    proof: Proof = model._prove(sample, u, tol, max_time, lay_out)
    return proof


def prove_ensemble(
    model: BaseEstimator, sample: Any, u: Any, tol: float | None, max_time: float, lay_out: Callable[[int], Layout]
) -> Proof:
    """Prove an ensemble, by its multipliers where they are given, else one of a new run."""
    formulation = model._formulation(sample)
    oracle = model._oracle(sample, formulation)
    statement = state_set(formulation, oracle)
    if statement is None:
        found = f"found {model.oracle!r:.100}, on these features, whose hypotheses an exact proof cannot name"
        raise InvalidInput("oracle", found, "take 'stumps', without bounds on their signs")
    as_fitted = u is not None
    if as_fitted:
        hypotheses, weights, intercept = list(model.weak_learners_), model.weights_, model.intercept_
    else:
        start = model.weak_learners_
        if tol is None:
            # the last digit can take HiGHS's simplex method over all columns, which took 2.1 GB and six times as long
            # on 19,020 samples, where interior points took 0.6
            tol = 1e-9 if len(sample.X) <= 10_000 else 1e-8
        run = column_generation(formulation, oracle, sample.signs, tol=tol, max_time=max_time, start=start)
        hypotheses, weights, intercept = [column.hypothesis for column in run.columns], run.weights, run.intercept
        u = run.u
    over, table, readings = statement
    return prove(
        formulation,
        table,
        sample.signs,
        hypotheses,
        weights,
        float(intercept),
        u=u,
        over=over,
        as_given=as_fitted,
        layout=lay_out(table.shape[1]),
        readings=readings,
    )
