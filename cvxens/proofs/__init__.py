"""Proofs that stand alone: rational numbers in a file, and a checker that trusts nothing of this library."""

import cvxens.proofs.columns  # noqa: F401
from cvxens.proofs.inseparable import prove_inseparable
from cvxens.proofs.kernels import prove_kernel
from cvxens.proofs.proof import Layout, Proof, prove

__all__ = ["Layout", "Proof", "prove", "prove_inseparable", "prove_kernel"]
