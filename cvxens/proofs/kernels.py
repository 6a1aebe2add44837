"""Proofs of how far a support vector machine is from the optimum, over all functions in the space of its kernel.

The bound from u, made feasible over the rationals with y'u = 0, is ``g(u) - u'(K o yy')u / (2 weight)``, and the model
is the function ``sum_i u_i y_i k(x_i, x) / weight + b``, whose penalty is the same form. Of stumps K is a matrix of
rational numbers; roots and exponentials are known to forty digits, and count at their worst. As y'u = 0, constants in
the kernel do not matter: entries are ``-|x - x'|_1``, ``-|x - x'|_2`` and ``exp(-gamma |x - x'|) - 1``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.proofs.forms import Form, Point
from cvxens.proofs.proof import Layout, Proof, round_multipliers, write_proof

KERNELS = {"stump": False, "perceptron": False, "laplacian": True, "gaussian": True}
"""The kernels that the checker knows, and which of them have a gamma."""


def prove_kernel(
    formulation: Formulation,
    X: Any,
    y: Any,
    kernel: str,
    u: Any,
    intercept: float = 0.0,
    *,
    gamma: float | None = None,
    layout: Layout | None = None,
) -> Proof:
    """Prove in rational numbers how far the function of given multipliers is from the best in the space of a kernel.

    Parameters
    ----------
    formulation : Formulation
        A loss as for `prove`, SquaredL2 and an intercept, such as ``formulations.svm(C)``.
    X : array-like of shape (n_samples, n_features)
        The features, finite. But for stumps the checker goes through all pairs: 1,000 samples take it half a minute.
    y : array-like of shape (n_samples,)
        Labels, -1 and +1.
    kernel : {"stump", "perceptron", "laplacian", "gaussian"}
        That of all stumps, ``-|x - x'|_1``; of all perceptrons, ``-|x - x'|_2``; ``exp(-gamma |x - x'|_1)``;
        ``exp(-gamma |x - x'|_2^2)``; whatever constant it has.
    u : array-like of shape (n_samples,)
        Multipliers: the doubles that they are, clipped to what is feasible, and balanced.
    intercept : float
        b, which goes with the kernel without its constant.
    gamma : float, optional
        Above 0, of the last two. It counts as the simplest rational that rounds to it.
    layout : Layout, optional
        Where the numbers stand in the data file; by default as `Proof.save` writes it.

    Returns
    -------
    Proof
        Checked once by the checker's own functions.

    Raises
    ------
    InvalidInput
        Another loss, penalty or kernel, a formulation without an intercept, or a gamma too many or missing.

    Examples
    --------
    >>> from cvxens.colgen import formulations
    >>> X, y = [[0.0], [1.0], [3.0]], [-1.0, 1.0, 1.0]
    >>> proof = prove_kernel(formulations.svm(C=2.0), X, y, "stump", [1.0, 1.0, 0.0])
    >>> proof.objective, proof.bound
    (Fraction(1, 1), Fraction(1, 1))
    """
    X = np.ascontiguousarray(X, dtype=np.float64) + 0.0
    signs = np.asarray(y, dtype=np.float64)
    if kernel not in KERNELS:
        raise InvalidInput("kernel", f"found {kernel!r:.100}", f"give one of {', '.join(map(repr, KERNELS))}")
    if (gamma is not None) != KERNELS[kernel]:
        raise InvalidInput("gamma", f"found {gamma!r} for the {kernel} kernel", "give one to those that have it")
    form = Form.from_formulation(formulation, len(signs), f"functions of the {kernel} kernel", gamma or 0.0)
    multipliers = round_multipliers(form, X, signs, np.asarray(u, dtype=float), exact=True)
    point = Point(None, Fraction(float(intercept)), *multipliers)
    return write_proof(form, X, signs, point, layout or Layout.of_width(X.shape[1]))
