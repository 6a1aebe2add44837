"""Draw the pictures in this folder: column generation on breast cancer, four stumps a round. Needs the extra plot."""

from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer

mpl.use("Agg")
from matplotlib import pyplot as plt

from cvxens.colgen import column_generation, formulations, oracles
from cvxens.plotting import ConvergenceDisplay, GapDisplay, ShapeDisplay

here = Path(__file__).parent
data = load_breast_cancer()
X, y = data.data, 2.0 * data.target - 1
run = column_generation(formulations.soft_margin(C=0.05), oracles.Stumps(X, columns_per_round=4), y, tol=1e-9)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
ConvergenceDisplay.from_run(run, ax=left)
left.set_ylim(0, 12)
GapDisplay.from_run(run, ax=right)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(here / "convergence.png", dpi=150)

shapes = ShapeDisplay.from_run(run, X, feature_names=data.feature_names, n_shown=8)
shapes.figure_.savefig(here / "shapes.png", dpi=150)
