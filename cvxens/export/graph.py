"""A graph of ONNX operators on float64, as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput


def onnx() -> Any:
    """The package.

    Raises
    ------
    InvalidInput
        It is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise InvalidInput("onnx", "found no such package", "install it: pip install 'cvxens[onnx]'") from None
    return onnx


class Graph:
    """Operators and constants, numbered; values are known by their names.

    Attributes
    ----------
    nodes : list of NodeProto
        In the order of evaluation.
    constants : list of TensorProto
        The arrays that they use.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def array(self, values: Any) -> str:
        """Add a constant: numbers of the type that they have, or text."""
        name = f"constant {len(self.constants)}"
        self.constants.append(onnx().numpy_helper.from_array(np.asarray(values), name))
        return name

    def put(self, operator: str, *inputs: Any, result: str = "", label: str = "", **attributes: Any) -> str:
        """Add an operator.

        Parameters
        ----------
        operator : str
            Its name in ONNX.
        *inputs : str, ndarray or number
            Names of values, or constants.
        result : str
            The name of the result; by default a number.
        label : str
            What errors of a runtime call the node.
        **attributes
            Its attributes.

        Returns
        -------
        str
            The name of the result.
        """
        names = [value if isinstance(value, str) else self.array(value) for value in inputs]
        result = result or f"value {len(self.nodes)}"
        self.nodes.append(onnx().helper.make_node(operator, names, [result], label, **attributes))
        return result

    def total(self, terms: str) -> str:
        """Sum (n, n_terms) along its rows, one term after the other, so that it is what `+=` gives to the last bit."""
        return self.put("Gather", self.put("CumSum", terms, np.array(1)), np.array(-1), axis=1)

    def side_by_side(self, columns: Sequence[str]) -> str:
        """Join values (n,) as columns (n, n_columns)."""
        return self.put("Concat", *(self.put("Unsqueeze", column, np.array([1])) for column in columns), axis=1)

    def combined(self, columns: Sequence[str], matrix: NDArray) -> list[str]:
        """Multiply values (n,), one for each column of a matrix, by its rows, which gives one for each row."""
        table = self.side_by_side(columns)
        return [self.total(self.put("Mul", table, row)) for row in matrix]
