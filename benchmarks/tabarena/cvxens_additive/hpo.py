"""What is tried beside the default: with and without pairs, how fine pairs are, and what they cost."""

from __future__ import annotations

from autogluon.common.space import Categorical, Int, Real
from tabarena.models.cvxens_additive.model import CvxensAdditiveModel
from tabarena.utils.config_utils import ConfigGenerator

# the price is not here: each fit finds its own on the rows for validation, along a path
search_space = {
    "pairs": Categorical("auto", True, False),
    "n_bins": Int(8, 64, default=16),
    "pair_cost": Real(1.0, 4.0, default=2.0, log=True),
}

gen_cvxens_additive = ConfigGenerator(
    model_cls=CvxensAdditiveModel,
    search_space=search_space,
    manual_configs=[{}],
)
