"""Formulas of docstrings as mathematics: found in running text by their words, and written as LaTeX.

Docstrings write ``min sum_i xi_i + 1/2 w'w``, which a terminal shows as well as it can. A formula is a run of words
that are all letters, numbers, operators or names of `NAMES`, of which at least one is a sign that no sentence has.
"""

from __future__ import annotations

import re

GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "eta",
    "theta",
    "lambda",
    "mu",
    "nu",
    "xi",
    "rho",
    "sigma",
    "tau",
    "phi",
    "Delta",
]
FUNCTIONS = ["sum", "min", "max", "int", "ln", "exp", "log", "inf"]
WORDS = ["loss", "penalty", "edge"]
NAMES = {name: f"\\{name}" for name in [*GREEK, *FUNCTIONS]} | {name: rf"\mathrm{{{name}}}" for name in WORDS}
NAMES |= {"lam": r"\lambda", "inf": r"\infty", "yy": "y y", "o": r"\circ"}

TOKEN = re.compile(
    r"(?P<half>(?<![\w)])[A-Za-z0-9]+/[0-9a-z](?![\w(]))"
    r"|(?P<name>[A-Za-z]+)|(?P<number>\d+(\.\d+)?(e-?\d+)?)"
    r"|(?P<sub>_(\{|[A-Za-z0-9]+|\+))|(?P<power>\^-?(\{|\w+))|(?P<prime>')|(?P<tilde>~)"
    r"|(?P<sign><=|>=|!=|[-+*/=<>(),;|{}.\s])"
)
SIGNS = {"<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "*": r"\cdot ", "{": r"\{", "}": r"\}"}

SURE = re.compile(r"[_^|]|[<>!]=|\w'[\w(]|\s[=<>]\s|\b[A-Za-z]\(|\bsum [a-zA-Z|(]|\bsum\(|\b(exp|ln)\b")
"""What no sentence has."""

CODE = re.compile(r"\w\.[a-z]|\w=|==|^\w+_\w+$")
"""What formulas between backticks do not have."""

COUNTS = re.compile(r"_(samples|features)\b")
"""Subscripts that are words, of formulas between backticks alone."""


def read(text: str) -> list[re.Match] | None:
    """Return the tokens of a formula; None if it is none."""
    tokens, place = [], 0
    while place < len(text):
        token = TOKEN.match(text, place)
        if token is None:
            return None
        name, index = token["name"] or "", (token["sub"] or "")[1:]
        if (len(name) > 1 and name not in NAMES) or (name and re.match(r"\d", text[token.end() :])):
            return None
        if len(index) > 2 and index not in GREEK and not COUNTS.match(token["sub"]):
            return None
        tokens.append(token)
        place = token.end()
    return tokens


def translate(formula: str) -> str:
    r"""Return a formula as LaTeX.

    Examples
    --------
    >>> print(translate("min 1/2 w'w + C sum_i xi_i"))
    \\min \\tfrac{1}{2} w^\\top w + C \\sum_{i} \\xi_{i}
    """
    tokens = read(formula)
    if tokens is None:
        raise ValueError(formula)
    written: list[str] = []
    inside: list[str] = []  # what closes the braces that are open
    for token in tokens:
        kind, text = token.lastgroup, token.group()
        following = formula[token.end() : token.end() + 1]
        if kind == "half":
            above, below = text.split("/")
            written.append(rf"\tfrac{{{NAMES.get(above, above)}}}{{{below}}}")
        elif kind == "name":
            written.append(NAMES.get(text, text))
            written.append(" " if written[-1].startswith("\\") and (following.isalnum() or following == "'") else "")
        elif token["sub"] or token["power"]:
            mark, rest = text[0], text[1:]
            if rest.endswith("{"):
                written.append(mark + rest.rstrip("{") + "{")
                inside.append("}")
            else:
                word = rf"\mathrm{{{rest}}}" if COUNTS.match(text) else rest
                written.append(f"{mark}{{{NAMES.get(rest, word)}}}")
        elif kind == "prime":
            # w'w is a product; x' in k(x, x') is another point
            written.append("'" if formula[token.start() - 1] == "x" and not following.isalnum() else r"^\top ")
        elif kind == "tilde":
            written[-2:] = [rf"\tilde{{{written[-2]}}}", ""]
        elif text == "}" and inside:
            written.append(inside.pop())
        elif text == "<" and not following.isspace():
            written.append(r"\langle ")
        elif text == ">" and not formula[token.start() - 1].isspace():
            written.append(r"\rangle ")
        elif text == "{":
            written.append(r"\{")
            inside.append(r"\}")
        else:
            written.append(SIGNS.get(text, " " if text.isspace() else text))
    return re.sub(r"\s+", " ", "".join(written)).strip()


def find(text: str) -> str:
    r"""Return running text with its formulas in the role of mathematics.

    Examples
    --------
    >>> print(find("The price is above 0: a bound of C sum_i max(0, 1 - z_i) on u >= 0."))
    The price is above 0: a bound of :math:`C \sum_{i} \max(0, 1 - z_{i})` on :math:`u \ge 0`.
    """
    parts = re.split(r"(\s+)", text)
    words, blanks = parts[::2], [*parts[1::2], ""]
    written, start = [], 0
    while start < len(words):
        end = start
        while end < len(words) and words[end] and read(words[end].rstrip(".,:;")) is not None:
            end += 1
            # what a sentence or an aside ends with ends a formula
            if re.search(r"[.:;]$", words[end - 1]):
                break
        # the longest run of these words that is a formula
        for stop in range(end, start, -1):
            before, formula, after = _peel(" ".join(words[start:stop]))
            if SURE.search(formula) and not COUNTS.search(formula) and _is_whole(formula):
                written.append(f"{before}:math:`{translate(formula)}`{after}{blanks[stop - 1]}")
                start = stop
                break
        else:
            written.append(words[start] + blanks[start])
            start += 1
    return "".join(written)


def is_literal(text: str) -> bool:
    """Return True for code between backticks that is a formula."""
    return bool(SURE.search(text)) and not CODE.search(text) and _is_whole(text)


def _peel(text: str) -> tuple[str, str, str]:
    """Return what stands before a formula and is not of it, the formula, and what stands behind it."""
    formula = text.rstrip(".,:;")
    after = text[len(formula) :]
    if formula.startswith("(") and formula.count("(") > formula.count(")"):
        return "(", formula[1:], after
    if formula.endswith(")") and formula.count(")") > formula.count("("):
        return "", formula[:-1], ")" + after
    return "", formula, after


def _is_whole(formula: str) -> bool:
    """Return True for a formula that begins and ends as one, with its brackets and bars in pairs."""
    begins = not re.match(r"[<>=*/,!](?!\w)|[aAI] [a-zA-Z]|[A-Za-z0-9]+, |-? ", formula)
    if not begins or re.search(r"[-+*/=<(,]$|(<|>|!)=$|\s[aAI]$", formula) or read(formula) is None:
        return False
    depth = 0
    for letter in formula:
        depth += (letter in "({") - (letter in ")}")
        if depth < 0:
            return False
    return depth == 0 and formula.count("|") % 2 == 0
