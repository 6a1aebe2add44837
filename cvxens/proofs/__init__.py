"""Proofs that stand alone: rational numbers in a file, and a checker that trusts nothing of this library."""

from cvxens.proofs.proof import Layout, Proof, prove, prove_inseparable, prove_kernel

__all__ = ["Layout", "Proof", "prove", "prove_inseparable", "prove_kernel"]
