"""Ensemble learning as convex modelling: formulations, column generation, certificates."""
