"""TT06: least squares with the kernel of a forest against the forest."""

from __future__ import annotations

from functools import partial

from sklearn.ensemble import RandomForestClassifier

from cvxens.estimators import SupervisedKernelRLSClassifier
from cvxens.experiments.experiment import Experiment, error_of
from cvxens.experiments.sources import Partitioned

PROTOCOL = """\
The paper's protocol and figures are not known; this is ours. 75 % of the samples to train on, at random, the others \
to test on. Both methods with their defaults, 100 trees; "leaf": samples are alike where they share a leaf, TT06 (8); \
"depth": by the depth of their last common node, TT06 (9)."""


def experts(kernel: str, random_state: int) -> SupervisedKernelRLSClassifier:
    """Least squares with the kernel of a forest."""
    return SupervisedKernelRLSClassifier(kernel=kernel, random_state=random_state)


def forest(random_state: int) -> RandomForestClassifier:
    """scikit-learn's forest."""
    return RandomForestClassifier(random_state=random_state)


TT06_FOREST = Experiment(
    paper="tt06",
    table="forest",
    title="least squares with the kernel of a forest against the forest",
    measure="test error, %",
    protocol=PROTOCOL,
    data={name: Partitioned(name, 0.75) for name in ("heart", "ionosphere", "sonar", "german", "glass", "vehicle")},
    methods={
        "forest": error_of(forest),
        "experts, leaf": error_of(partial(experts, "leaf")),
        "experts, depth": error_of(partial(experts, "depth")),
    },
)
