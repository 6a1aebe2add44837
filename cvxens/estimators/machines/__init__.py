"""What kernel machines share: their kernels, the choice of a solver, folds, expansions and shape functions."""
