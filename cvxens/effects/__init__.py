"""What a model is the sum of: functions of one feature, of two, and of more; exact contributions and Shapley values."""

from cvxens.effects.effects import Effects, purify, purify_further
from cvxens.effects.functions import Interaction, MainEffect

__all__ = ["Effects", "Interaction", "MainEffect", "purify", "purify_further"]
