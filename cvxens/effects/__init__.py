"""What a model is the sum of: functions of one feature, of two, and of more; exact contributions and Shapley values."""

from cvxens.effects.effects import Effects
from cvxens.effects.functions import Interaction, MainEffect
from cvxens.effects.purification import purify, purify_further

__all__ = ["Effects", "Interaction", "MainEffect", "purify", "purify_further"]
