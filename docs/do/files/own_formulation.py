"""A formulation of one's own: the worst mean loss of two groups, with a bill for the features it asks for."""

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_breast_cancer

from cvxens import ColumnGenerationClassifier
from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.oracles import Stumps

X, labels = load_breast_cancer(return_X_y=True)
X, y = X[:200], 2.0 * labels[:200] - 1
older = X[:, 0] > np.median(X[:, 0])  # two groups of samples


def worst_group(z):
    """The larger of the mean hinge losses of the two groups."""
    return cp.maximum(*(cp.sum(cp.pos(1 - z[group])) / group.sum() for group in (older, ~older)))


formulation = Formulation(worst_group, lambda w: 0.02 * cp.norm1(w), intercept=True)
run = column_generation(formulation, Stumps(X), y, tol=1e-5)
print(run.certificate)
assert run.certificate.proven
assert run.certificate.relative_gap <= 1e-5

# the same for scikit-learn: a formulation that does not depend on the sample may be given as it is
model = ColumnGenerationClassifier(formulation, tol=1e-5).fit(X, y)
print(f"{len(model.weak_learners_)} stumps, {model.score(X, y):.0%} of the training sample right")
