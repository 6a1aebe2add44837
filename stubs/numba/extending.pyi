from collections.abc import Callable
from typing import Any

def intrinsic(generate: Callable[[Any, Any], Any]) -> Callable[[Any], Any]: ...
