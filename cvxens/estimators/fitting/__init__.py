"""What every fit shares: its sample, weak learners by name, several classes, rounds that can be followed, words."""
