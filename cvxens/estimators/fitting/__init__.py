"""What every fit shares: samples, weak learners by name, several classes, rounds that can be followed."""
