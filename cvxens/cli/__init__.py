"""The command line."""

from cvxens.cli.main import main

__all__ = ["main"]
