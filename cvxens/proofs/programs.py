"""The linear program of a proof, with its solution and multipliers, in the formats of other checkers.

Over hypotheses h_j, each with its negation unless weights are at least 0, the program is

    min  weight sum_j w_j + sum_i C_i xi_i,    y_i (sum_j w_j h_j(x_i) + b) + xi_i >= 1,    w, xi >= 0

for the hinge and for hard margins, which have no xi, and ``min -rho + sum_i D_i xi_i`` with ``- rho >= 0`` in the place
of ``>= 1`` and ``sum_j w_j = 1`` for the soft minimum. The multipliers u of the margins make the bound: what is left of
the costs after ``sum_i u_i row_i`` is paid by bounds of variables, and by the equation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NotRequired, TypedDict

from cvxens.errors import InvalidInput
from cvxens.proofs.forms import LINEAR
from cvxens.types import Array

Document = TypedDict(
    "Document",
    {
        "cvxens proof": int,
        "claim": str,
        "not established": list[str],
        "data": dict[str, Any],
        "formulation": dict[str, Any],
        "model": dict[str, Any] | None,
        "multipliers": list[str],
        "values": NotRequired[dict[str, str | None]],
        "sha256": NotRequired[str],
    },
)
"""What a proof says, as its file has it."""

LARGEST_EXPORT = 2_000_000
"""Entries of a program up to which it is written: some 20 MB."""


@dataclass(frozen=True)
class ProgramRow:
    """``sum_j entries_j x_j >= rhs``, or an equation, and its multiplier in the bound."""

    name: str
    entries: dict[int, Fraction]
    rhs: Fraction
    multiplier: Fraction
    equal: bool = False


@dataclass(frozen=True)
class LinearProgram:
    """``min costs'x`` under rows, those that bound single variables first, with a solution and multipliers.

    Without a solution the multipliers are a proof that there is none: they make ``0 >= 1`` of the rows.

    Parameters
    ----------
    names : list of str
        Of the variables.
    costs : list of Fraction
    rows : list of ProgramRow
    n_bounds : int
        How many of them bound a variable.
    solution : list of Fraction or None
    bound : Fraction or None
        What the multipliers prove; None without a solution.
    """

    names: list[str]
    costs: list[Fraction]
    rows: list[ProgramRow]
    n_bounds: int
    solution: list[Fraction] | None
    bound: Fraction | None

    @property
    def objective(self) -> Fraction:
        """The objective of the solution."""
        assert self.solution is not None
        return sum((c * x for c, x in zip(self.costs, self.solution, strict=True)), Fraction(0))

    @classmethod
    def from_document(cls, document: Document, X: Array, y: Array, restricted: bool) -> LinearProgram:
        """State the program of a proof, over all hypotheses, or over those alone that vote if it is `restricted`.

        `InvalidInput` for a proof that is not of a linear program, or one that is too large.
        """
        form = document["formulation"]
        if document["model"] is not None and (form["loss"], form["penalty"]) not in LINEAR:
            found = f"found {form['loss']} loss with {form['penalty']} penalty"
            raise InvalidInput("proof", found, "give that of a linear program: other formats hold nothing else")
        names, columns, votes = _list_columns(document, X, restricted)
        if (size := len(columns) * len(y)) > LARGEST_EXPORT:
            remedy = f"give restricted=True, or a sample with at most {LARGEST_EXPORT:,} entries"
            raise InvalidInput("proof", f"found a program of {size:,} entries", remedy)
        return _state_program(document, y, names, columns, votes)

    def to_vipr(self) -> str:
        """Write the program, its solution and the derivation of the bound, as VIPR 1.0 has it."""
        lines = [
            "VER 1.0",
            f"VAR {len(self.names)}",
            *self.names,
            "INT 0",
            "OBJ min",
            _list_entries(dict(enumerate(self.costs))),
        ]
        lines.append(f"CON {len(self.rows)} {self.n_bounds}")
        lines += [f"{row.name} {'E' if row.equal else 'G'} {row.rhs} {_list_entries(row.entries)}" for row in self.rows]
        reasons = _list_entries({i: row.multiplier for i, row in enumerate(self.rows)})
        if self.solution is None:
            return "\n".join([*lines, "RTP infeas", "SOL 0", "DER 1", f"bound G 1 0 {{ lin {reasons} }} -1", ""])
        lines += [f"RTP range {self.bound} {self.objective}", "SOL 1"]
        lines += [f"model {_list_entries(dict(enumerate(self.solution)))}", "DER 1"]
        return "\n".join([*lines, f"bound G {self.bound} OBJ {{ lin {reasons} }} -1", ""])

    def to_lean(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what Lean's tactic asks a solver, and what that answers, in version 1 of their JSON.

        Bounds of variables are rows, as the answer has multipliers of rows alone. `InvalidInput` where there is a gap.
        """
        if self.solution is not None and self.objective != self.bound:
            found = "found a gap between objective and bound, where the format has optima alone"
            raise InvalidInput("proof", found, "give one whose gap is 0")
        options = {"sense": "minimize", "presolve": False, "simplex": "auto", "iterLimit": None, "timeLimitMs": None}
        problem = {
            "numConstraints": len(self.rows),
            "numVars": len(self.names),
            "c": list(map(str, self.costs)),
            "objOffset": "0",
            "a": [[i, j, str(v)] for i, row in enumerate(self.rows) for j, v in sorted(row.entries.items())],
            "rowBounds": [[str(row.rhs), str(row.rhs) if row.equal else None] for row in self.rows],
            "colBounds": [[None, None]] * len(self.names),
        }
        certificate = {
            "primal": None if self.solution is None else list(map(str, self.solution)),
            "dual": [str(row.multiplier) for row in self.rows],
        }
        status = "infeasible" if self.solution is None else "optimal"
        return {"options": options, "problem": problem}, {"status": status, "certificate": certificate}


def _list_entries(entries: dict[int, Fraction]) -> str:
    """Write how many entries are not 0, and these with their numbers."""
    present = [f"{j} {value}" for j, value in entries.items() if value]
    return " ".join([str(len(present)), *present])


def _list_columns(
    document: Document, X: Array, restricted: bool
) -> tuple[list[str], list[list[Fraction]], list[Fraction]]:
    """Return names, values on the sample and weights of the hypotheses, those of negations apart."""
    form, model, features = document["formulation"], document["model"] or {"terms": []}, X.T.tolist()
    # as the checker has it: a stump is its place in the sorted feature, and a column of a pool has none
    tables = [sorted(column) for column in features]
    votes: dict[tuple[int | None, int | None], Fraction] = {}
    for term in model["terms"]:
        feature, threshold = term["feature"], term["threshold"]
        place = None if threshold is None else bisect_left(tables[feature], float(threshold))
        votes[feature, place] = Fraction(int(term["weight"]), int(model["denominator"]))
    places = [None] if "pool" in form["hypotheses"] else range(1, len(X))
    found: list[tuple[int | None, int | None]] = [(None, None)] * (form["hypotheses"] == "stumps and constant")
    found += [(j, k) for j, table in enumerate(tables) for k in places if k is None or table[k - 1] < table[k]]

    def evaluate(feature: int | None, place: int | None) -> tuple[str, list[Any]]:
        if feature is None:
            return "one", [1] * len(X)
        if place is None:
            return f"h{feature}", features[feature]
        threshold = tables[feature][place]
        return f"h{feature}_{place}", [1 if v >= threshold else -1 for v in features[feature]]

    known = [(key, *evaluate(*key)) for key in found if key in votes or not restricted]
    signs = {1: "w_"} if form["hypotheses"] == "one-sided pool" else {1: "w_", -1: "w_minus_"}
    names = [f"{prefix}{name}" for _, name, _ in known for prefix in signs.values()]
    columns = [[sign * Fraction(v) for v in values] for *_, values in known for sign in signs]
    weights = [max(sign * votes.get(key, Fraction(0)), Fraction(0)) for key, *_ in known for sign in signs]
    return names, columns, weights


def _state_program(
    document: Document, y: Array, names: Sequence[str], columns: Sequence[Sequence[Fraction]], votes: Sequence[Fraction]
) -> LinearProgram:
    """State the program over columns, with the point and the multipliers of the proof."""
    form, model, n, k = document["formulation"], document["model"], len(y), len(columns)
    signs = [int(sign) for sign in y.tolist()]
    denominator, *numerators = map(int, document["multipliers"])
    u = [Fraction(v, denominator) for v in numerators]
    unit, *prices_of = map(int, form["prices"])
    prices = [Fraction(c, unit) for c in prices_of] * (n if len(prices_of) == 1 else 1)
    soft, simplex = form["loss"] != "hard", form["penalty"] == "simplex"
    # where there are no weights at all their penalty does not matter
    weight = Fraction(0 if simplex or model is None else form["weight"])
    edges = [sum((v * s * h for v, s, h in zip(u, signs, column, strict=True)), Fraction(0)) for column in columns]
    # the multiplier of sum w = 1 makes good what the largest edge takes off
    level = -max(edges, default=Fraction(0)) if simplex else Fraction(0)
    # variables: w, then xi, then rho of the soft minimum, then b
    variables = [*names, *(f"xi_{i}" for i in range(n * soft)), *["rho"] * simplex, *["b"] * form["intercept"]]
    costs = [weight] * k + prices * soft + [Fraction(-1)] * simplex
    costs += [Fraction(0)] * form["intercept"]
    left = [weight - edge - level for edge in edges]
    left += [c - v for c, v in zip(prices, u, strict=True)] * soft
    rows = [ProgramRow(f"{variables[j]}_bound", {j: Fraction(1)}, Fraction(0), value) for j, value in enumerate(left)]
    n_bounds = len(rows)
    for i, sign in enumerate(signs):
        entries = {j: sign * column[i] for j, column in enumerate(columns) if column[i]}
        entries |= {k + i: Fraction(1)} if soft else {}
        entries |= {k + n: Fraction(-1)} if simplex else {}
        entries |= {len(variables) - 1: Fraction(sign)} if form["intercept"] else {}
        rows.append(ProgramRow(f"margin_{i}", entries, Fraction(0 if simplex else 1), u[i]))
    if simplex:
        rows.append(ProgramRow("sum", {j: Fraction(1) for j in range(k)}, Fraction(1), level, equal=True))
    if model is None:
        return LinearProgram(variables, costs, rows, n_bounds, None, None)
    b = Fraction(int(model["intercept"]), int(model["denominator"]))
    if simplex and (rest := 1 - sum(votes, Fraction(0))):
        # what h and -h share adds nothing to the scores
        votes = [votes[0] + rest / 2, votes[1] + rest / 2, *votes[2:]]
    voting = [(w, column) for w, column in zip(votes, columns, strict=True) if w]
    z = [s * (b + sum((w * column[i] for w, column in voting), Fraction(0))) for i, s in enumerate(signs)]
    # the soft minimum is concave and piecewise linear in rho: the best is one of the margins
    rho = min(z, key=lambda r: -r + sum((c * (r - v) for c, v in zip(prices, z, strict=True) if v < r), Fraction(0)))
    reached = rho if simplex else Fraction(1)
    slacks = [max(reached - v, Fraction(0)) for v in z] * soft
    solution = [*votes, *slacks, *[rho] * simplex, *[b] * form["intercept"]]
    bound = sum((row.rhs * row.multiplier for row in rows), Fraction(0))
    return LinearProgram(variables, costs, rows, n_bounds, solution, bound)
