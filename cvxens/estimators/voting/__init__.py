"""What weighted votes of weak learners share: the run that finds them, boosting, codes, tables and text."""
