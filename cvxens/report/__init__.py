"""A fitted model as one HTML page that people look at: what it is, what is proven, what each feature does, and why."""

from cvxens.report.page import make_page, write_page

__all__ = ["make_page", "write_page"]
