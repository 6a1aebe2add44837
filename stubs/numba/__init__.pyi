"""What of numba the package uses: to a type checker, a compiled function is the function that it is compiled from."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

Compiled = TypeVar("Compiled", bound=Callable[..., Any])

def njit(
    *,
    cache: bool = ...,
    nogil: bool = ...,
    inline: Literal["always", "never"] = ...,
    error_model: Literal["numpy", "python"] = ...,
    fastmath: set[str] = ...,
) -> Callable[[Compiled], Compiled]: ...

types: Any

def carray(ptr: Any, shape: int) -> Any: ...
