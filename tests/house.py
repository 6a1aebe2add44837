"""Counts of the package and of whole fits: what a maintainer holds in mind; `python tests/house.py` prints them."""

import ast
import inspect
import io
import re
import sys
import tokenize
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
from test_architecture import PUBLIC

import cvxens
from cvxens.limits import limit_threads

PACKAGE = Path(cvxens.__file__).parent
TESTS = Path(__file__).parent

NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def count_code(text, tree):
    """The number of lines that hold code: neither blank, nor a comment, nor a string that stands alone."""
    kept = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            kept.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            kept -= set(range(node.lineno, node.end_lineno + 1))
    return len(kept)


def count_house():
    """Lines, names and constants of the package, and lines of its tests."""
    count, names = Counter(), Counter()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        tree = ast.parse(text)
        count.update({"files": 1, "lines": text.count("\n"), "code": count_code(text, tree)})
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names[node.name] += 1
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                count["hasattr + getattr"] += node.func.id in {"hasattr", "getattr"}
            elif isinstance(node, ast.Name):
                count["Any"] += node.id == "Any"
        for node in tree.body:
            for target in getattr(node, "targets", [getattr(node, "target", None)]):
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                count["module constants"] += sum(isinstance(part, ast.Name) and part.id.isupper() for part in parts)
    count["class names used twice"] = sum(n > 1 for n in names.values())
    count["test lines"] = sum(path.read_text().count("\n") for path in TESTS.rglob("*.py"))
    count["Any in public"] = count_public_any()
    return count


def count_public_any():
    """The annotations with Any of what rooms export: of functions, and of attributes and methods of classes."""
    rooms = [import_module(f"cvxens.{name}") for name in PUBLIC]
    things = [getattr(room, name) for room in rooms for name in room.__all__]
    kinds = {kind for it in things for kind in getattr(it, "__mro__", ()) if kind.__module__.startswith("cvxens")}
    members = [it for kind in kinds for name, it in vars(kind).items() if name[0] != "_" or name == "__call__"]
    noted = {}
    for it in [*things, *kinds, *members]:
        of = next((getattr(it, name) for name in ("__func__", "fget", "func", "fn") if hasattr(it, name)), it)
        if inspect.isclass(of) or inspect.isfunction(of):
            noted |= {(of, name): str(text) for name, text in inspect.get_annotations(of).items() if name[0] != "_"}
    return sum("Any" in re.findall(r"\w+", text) for text in noted.values())


def trace(run):
    """The files, functions and lines of the package that a call goes through, from its beginning to its return."""
    run()  # what is compiled and loaded once is not of the way
    functions, lines = set(), set()

    def follow(frame, event, _argument):
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return follow

    def enter(frame, _event, _argument):
        if not frame.f_code.co_filename.startswith(f"{PACKAGE}/"):
            return None
        functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))
        return follow

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        run()
    finally:
        sys.settrace(before)
    return {"files": len({file for file, _ in functions}), "functions": len(functions), "lines": len(lines)}


def trace_lpboost():
    """The way of a whole fit, and what its estimator is made of."""
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 6))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * random.normal(size=150) > 0.3).astype(int)
    ours = [each for each in cvxens.LPBoostClassifier.__mro__ if each.__module__.startswith("cvxens")]
    # what other threads do is not seen, and which one does what would be chance
    with limit_threads(1):
        counts = trace(lambda: cvxens.LPBoostClassifier().fit(X, y))
    return counts | {"parameters": len(cvxens.LPBoostClassifier().get_params()), "classes": len(ours)}


if __name__ == "__main__":
    for title, counts in {"the house": count_house(), "LPBoostClassifier().fit": trace_lpboost()}.items():
        print(title)
        for name, n in counts.items():
            print(f"  {name:24}{n:>8,}")
