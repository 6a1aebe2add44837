"""What the solvers of this benchmark share; benchopt puts this folder on the path."""
