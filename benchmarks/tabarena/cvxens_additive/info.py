"""How the arena lists the entry."""

from __future__ import annotations

from tabarena.models._method_metadata import MethodMetadata
from tabarena.models._model_info import ModelInfo
from tabarena.models.cvxens_additive.hpo import gen_cvxens_additive
from tabarena.models.cvxens_additive.model import CvxensAdditiveModel

cvxens_additive_method_metadata = MethodMetadata.config(
    method="CvxensAdditive",
    display_name="cvxens additive",
    compute="cpu",
    date="2026-11-28",
    date_introduced="2026-11",
    ag_key=CvxensAdditiveModel.ag_key,
    model_key="CVXENS-ADDITIVE",
    config_default="CvxensAdditive_c1_BAG_L1",
    can_hpo=True,
    is_bag=True,
    suite="tabarena-2026-11-28",
    verified=False,
)

cvxens_additive_info = ModelInfo(
    model_cls=CvxensAdditiveModel,
    search_space=gen_cvxens_additive,
    method_metadata=cvxens_additive_method_metadata,
    pip_extra=("cvxens",),
)
