"""A kernel of one's own: stumps of which some features are more likely than others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from cvxens import InfiniteEnsembleSVC
from cvxens.hypotheses import Stump
from cvxens.kernels import Kernel


@dataclass(frozen=True)
class RatedStumps(Kernel):
    """K(x, x') = sum_d rate_d (1/2 - |x_d - x'_d|) on [0, 1]^D."""

    rates: tuple[float, ...]
    equation: ClassVar[str] = "sum_d rate_d (1/2 - |x_d - x'_d|)"
    source: ClassVar[str] = "a page of the documentation"
    neutral = True  # -1/+1-valued hypotheses whose average is 0 everywhere

    def tile(self, X, Z):  # all that a kernel has to have: a block of the matrix
        X, Z = np.asarray(X, float), np.asarray(Z, float)
        return lambda rows, columns: (0.5 - np.abs(X[rows, None] - Z[None, columns])) @ np.array(self.rates)

    def total_mass(self, X=None, Z=None):  # the integral of r(a)^2 over its hypotheses
        return sum(self.rates) / 2

    def sample(self, n, random_state=None):  # hypotheses, drawn as r(a)^2 has them
        random = np.random.default_rng(random_state)
        features = random.choice(len(self.rates), n, p=np.array(self.rates) / sum(self.rates))
        return tuple(Stump(int(d), float(random.random()), int(random.choice([-1, 1]))) for d in features)

    def additive_scales(self, X):  # a sum over features: solved without a matrix
        return np.array(self.rates)

    def domain(self, n_features):  # between 0 and 1
        return np.outer([0.0, 1.0], np.ones(n_features))


X, y = load_breast_cancer(return_X_y=True)
X = minmax_scale(X[:, :4])
kernel = RatedStumps((1.0, 0.5, 2.0, 1.0))
model = InfiniteEnsembleSVC(kernel, C=1.0).fit(X, y)
print(model.certificate_)
assert model.certificate_.holds(model.tol)
drawn = kernel.sample(4000, 0)
H = np.column_stack([h(X[:5]) for h in drawn])
assert np.abs(kernel.total_mass() * H @ H.T / 4000 - kernel(X[:5])).max() < 0.15  # it is the mean of their products
