"""Fits of every estimator in the parent, then in pools of processes and threads: a script that prints what differs."""

import multiprocessing
import sys
import warnings

import numpy as np
from joblib import Parallel, delayed
from public_estimators import FAMILIES, PUBLIC, TARGETS, X
from sklearn.base import clone

import cvxens.limits
from cvxens import ColumnGenerationClassifier, InfiniteEnsembleSVC, LPBoostClassifier, RhoSVC
from cvxens.colgen import column_generation, formulations, masters, oracles
from cvxens.solvers import additive, byte_rows

SOLVERS = {
    "LPBoost by cvxpy": LPBoostClassifier(nu=0.3, solver="reference"),
    "logistic by cvxpy": ColumnGenerationClassifier(solver="reference"),
    "perceptrons": LPBoostClassifier(oracle="perceptrons", nu=0.3, max_columns=20, random_state=0),
    "trees": LPBoostClassifier(oracle="trees", nu=0.3, max_columns=20, random_state=0),
    "additive": InfiniteEnsembleSVC(C=0.1, solver="additive"),
    "blockwise": InfiniteEnsembleSVC("perceptron", C=0.1, solver="blockwise"),
    "SVM by cvxpy": InfiniteEnsembleSVC(C=0.1, solver="reference"),
    "rho-SVM by updates": RhoSVC(solver="reference"),
}

NAMES = [*FAMILIES, *SOLVERS, "HiGHS", "interior point"]


def answer(name):
    """Return what a fit finds, in the parent and in every process of a pool."""
    # every computation that can use threads uses them, on a sample of any size; sums are cut by these too
    cvxens.limits.WORTH_A_THREAD = additive.WORTH_A_THREAD = byte_rows.WORTH_A_THREAD = additive.BLOCK = 1
    warnings.simplefilter("ignore")
    if name in {"HiGHS", "interior point"}:
        master = masters.HighsMaster if name == "HiGHS" else masters.InteriorPointMaster
        run = column_generation(formulations.soft_margin(C=0.3), oracles.Stumps(X), SIGNS, master=master)
        return run.certificate.primal, run.certificate.dual, run.decision_function(X).tolist()
    estimator = clone({**PUBLIC, **SOLVERS}[name]).fit(X, TARGETS.get(name, SIGNS))
    certified = estimator if hasattr(estimator, "certificate_") else estimator.best_estimator_
    certificate = certified.certificate_
    return certificate.primal, certificate.dual, np.asarray(estimator.predict(X)).tolist()


SIGNS = np.where(TARGETS["LPBoostClassifier"] == "yes", 1.0, -1.0)


FEW = ["LPBoostClassifier", "additive", "HiGHS", "interior point"]
"""What is fitted where every process has to import the package first."""


def pooled(method, names):
    """The answers of a pool."""
    if method == "fork":
        with multiprocessing.get_context(method).Pool(2) as pool:
            return pool.map(answer, names, chunksize=1)
    return Parallel(2, backend=method)(delayed(answer)(name) for name in names)


def same(one, other):
    """Return True for the same bits: with any number of threads sums are cut at the same places."""
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    here = {name: answer(name) for name in NAMES}
    methods = {"fork": NAMES, "threading": NAMES, "loky": FEW}
    for method in methods if "fork" in multiprocessing.get_all_start_methods() else list(methods)[1:]:
        names = methods[method]
        answers = pooled(method, names)
        different = [name for name, found in zip(names, answers, strict=True) if not same(here[name], found)]
        sys.stdout.write(" ".join([method, str(len(names)), "different:", *different]) + "\n")
