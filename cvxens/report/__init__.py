"""A fitted model as one HTML page that people look at: what it is, what is proven, what each feature does, and why."""

from cvxens.report.content import Report

__all__ = ["Report"]
