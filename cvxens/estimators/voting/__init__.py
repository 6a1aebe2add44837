"""What weighted votes of weak learners share, whatever found them."""
