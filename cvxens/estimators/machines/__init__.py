"""What kernel machines share: their kernels, their solvers, and what they tell."""
