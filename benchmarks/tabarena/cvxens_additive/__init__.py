"""cvxens' additive models as an entrant of TabArena."""

from __future__ import annotations

from tabarena.models.cvxens_additive.hpo import gen_cvxens_additive
from tabarena.models.cvxens_additive.info import cvxens_additive_info, cvxens_additive_method_metadata

__all__ = ["cvxens_additive_info", "cvxens_additive_method_metadata", "gen_cvxens_additive"]
