"""TT06 Figure 3: experts with the kernel of a forest against the forest, on random functions."""

from functools import partial

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from cvxens.datasets import make_random_function
from cvxens.estimators import SupervisedKernelRLSClassifier, SupervisedKernelRLSRegressor
from cvxens.experiments import drawing
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import ErrorOrRms
from cvxens.experiments.splits import OneDraw

TABLE = Experiment(
    paper="tt06",
    table="figure3",
    title="experts with the kernel of a forest against the forest, on random functions, one point each",
    protocol="""
Every split is another random function of Friedman's generator: 500 samples to train on and 500 to test on, 20 features,
of which 10 matter. The paper has 100 functions and no numbers. Chosen here, as the paper does not say it: the target is
cut at its median, no noise, levels with equal shares of the samples, and defaults of both methods, 100 trees and 100
experts. Errors in percent of classes, root mean squares of numbers.
""",
    rows={
        f"{target}, {inputs}": OneDraw(partial(make_random_function, target=target, mixed=inputs == "mixed"), 500, 500)
        for target in ("classes", "numbers")
        for inputs in ("continuous", "mixed")
    },
    columns={
        "forest": ErrorOrRms(RandomForestClassifier(), RandomForestRegressor()),
        "experts": ErrorOrRms(SupervisedKernelRLSClassifier(), SupervisedKernelRLSRegressor()),
    },
    measure="error, % or RMS",
    draw=drawing.draw_pairs,
)
