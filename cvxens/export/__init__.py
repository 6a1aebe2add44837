"""Fitted models for other runtimes: ONNX, with the scores of `decision_function` in double precision."""

from cvxens.export.models import to_onnx

__all__ = ["to_onnx"]
