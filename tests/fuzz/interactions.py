"""Random samples with ties, offsets and weights of 0: oracles over several features beside lists of all hypotheses.

Every hypothesis of a set is written down by plain loops over thresholds and signs, and evaluated sample by sample. Held
against it are the number of hypotheses, the edges, the bounds with and without exclusions, the sum of squares, and the
optimum of a hinge loss with an l1 penalty over the whole set, by cvxpy.

``python tests/fuzz/interactions.py COUNT [FIRST]`` tells of every disagreement and the number that draws it again.
"""

import sys
from dataclasses import dataclass
from itertools import combinations, product
from math import inf
from typing import Any

import cvxpy as cp
import numpy as np

from cvxens.colgen import column_generation, formulations, oracles
from cvxens.hypotheses import Branch, Constant, Interval, Rule, Stump, negate

ROUNDING = 1e-11
"""What sums of a few numbers below 10 are off by, with much to spare."""


SQUARES = ("sum of squares", "sum of squares above 0")
UNKNOWN = {"boxes": SQUARES, "deep trees": SQUARES}
"""What an oracle does not tell."""

MOST_BINS = {"deep trees": {1: 5, 2: 3, 3: 2}}
"""By the number of features, so that no list is too long."""


@dataclass(frozen=True)
class Case:
    """An oracle on a sample, and its hypotheses, h or -h once, with their values."""

    kind: str
    text: str
    oracle: Any
    X: np.ndarray
    hypotheses: list[Any]
    H: np.ndarray
    sides: np.ndarray  # the sign that a hypothesis has alone, 0 for both


MOST_EXACT = 200
"""So many hypotheses are all asked for by one that looks for the best for its cost."""


def draw(number):
    """Draw a case; None where no feature varies or there are no hypotheses."""
    random = np.random.default_rng(number)
    n, d = int(random.integers(2, 9)), int(random.integers(1, 4))
    X = random.integers(0, random.integers(2, 5), (n, d)).astype(float)
    if random.random() < 0.2:
        X[:, random.integers(d)] = 1.0
    if not np.ptp(X, axis=0).any():
        return None
    if random.random() < 0.2:
        X += random.choice([-1e12, 0.0, 1e12], d)
    pairs = list(combinations(range(d), 2))
    options = {
        "n_bins": int(random.integers(2, 6)),
        "constant": bool(random.random() < 0.7),
        "interactions": None if random.random() < 0.6 else [p for p in pairs if random.random() < 0.5],
        "forbidden": [p for p in pairs if random.random() < 0.2],
    }
    kind, make, enumerate_all = KINDS[number % len(KINDS)]
    options["n_bins"] = min(options["n_bins"], MOST_BINS.get(kind, {}).get(d, 6))
    if kind == "rules" and random.random() < 0.5:
        options["signs"] = random.choice([-1, 0, 1], d)
    oracle = make(X, **options)
    allowed = [(a, b) for a, b in pairs if options["interactions"] is None or (a, b) in options["interactions"]]
    allowed = [pair for pair in allowed if pair not in options["forbidden"]]
    listed = list(enumerate_all(thresholds_of(X, oracle), {*allowed, *((b, a) for a, b in allowed)}))
    sided = [(h, value, side_of(h, options.get("signs", np.zeros(d)))) for h, value in listed]
    sided = [each for each in sided if each[2] is not None]
    if options["constant"]:
        sided.append((Constant(1), lambda x: 1.0, 0.0))
    if not sided:
        return None
    hypotheses, values, sides = zip(*sided, strict=True)
    H = np.array([[value(row) for value in values] for row in X.tolist()])
    return Case(kind, f"{kind} {options} on {X.tolist()}", oracle, X, list(hypotheses), H, np.array(sides))


def side_of(hypothesis, signs):
    """The sign that a rule must have to rise where it is to rise, 0 for both, None for neither."""
    if not signs.any():
        return 0.0
    wanted = {signs[i.feature] * (1 if i.high == inf else -1) for i in hypothesis.intervals} - {0}
    return None if len(wanted) > 1 else float(wanted.pop()) if wanted else 0.0


def thresholds_of(X, oracle):
    """All middles between neighbouring values of every feature; where there are too many for the bins, the oracle's."""
    found = []
    for j, own in enumerate(oracle.binned.thresholds):
        values = np.unique(X[:, j])
        middles = ((values[:-1] + values[1:]) / 2).tolist()
        assert set(own.tolist()) <= set(middles)
        found.append(own.tolist())
    return found


def list_trees(thresholds, allowed):
    """Every tree of depth 1 or 2 that has no split without effect, one of its two signs."""
    for f, own in enumerate(thresholds):
        for t in own:
            above = [None, *splits(f, thresholds, allowed, lambda u, t=t: u > t)]
            below = [None, *splits(f, thresholds, allowed, lambda u, t=t: u < t)]
            for up in above:
                for down in below:
                    for sign in (1, -1):
                        if up is None and down is None:
                            if sign < 0:
                                yield Stump(f, t, 1), lambda x, f=f, t=t: 1.0 if x[f] >= t else -1.0
                            continue
                        tree = Branch(f, t, as_half(up, 1), as_half(down, sign))
                        yield (
                            tree,
                            lambda x, f=f, t=t, up=up, down=down, sign=sign: (
                                vote(up, x) if x[f] >= t else sign * vote(down, x)
                            ),
                        )


def list_deep_trees(thresholds, allowed):
    """Every tree of depth 1 to 3 that has no split without effect, one of its two signs."""
    for f, own in enumerate(thresholds):
        for t in own:
            halves = []
            for beside in (lambda u, t=t: u > t, lambda u, t=t: u < t):
                # what is left in a half: of the root's feature the thresholds beside its own, and who may meet it
                left = [
                    [u for u in of_g if beside(u)] if g == f else of_g if (f, g) in allowed else []
                    for g, of_g in enumerate(thresholds)
                ]
                halves.append([(Constant(1), lambda x: 1.0), *list_trees(left, allowed)])
            for (above, vote_above), (below, vote_below), sign in product(*halves, (1, -1)):
                if isinstance(above, Constant) and isinstance(below, Constant):
                    if sign < 0:
                        yield Stump(f, t, 1), lambda x, f=f, t=t: 1.0 if x[f] >= t else -1.0
                    continue
                yield (
                    Branch(f, t, above, below if sign > 0 else negate(below)),
                    lambda x, f=f, t=t, up=vote_above, down=vote_below, sign=sign: (
                        up(x) if x[f] >= t else sign * down(x)
                    ),
                )


def splits(f, thresholds, allowed, beside):
    """The splits below a root that asks f: of other features any, of f itself those on the side of the half."""
    return [(g, u) for g, own in enumerate(thresholds) for u in own if ((f, g) in allowed if g != f else beside(u))]


def as_half(split, sign):
    return Constant(sign) if split is None else Stump(*split, sign)


def vote(split, x):
    return 1.0 if split is None or x[split[0]] >= split[1] else -1.0


def list_rules(thresholds, allowed):
    """Every rule of one or two half-lines."""
    lines = [(f, t, side) for f, own in enumerate(thresholds) for t in own for side in (True, False)]
    for a in lines:
        yield as_rule([a])
    for a, b in combinations(lines, 2):
        if (a[0], b[0]) in allowed:
            yield as_rule([a, b])


def as_rule(lines):
    intervals = tuple(Interval(f, t, np.inf) if above else Interval(f, -np.inf, t) for f, t, above in lines)
    return Rule(intervals, 1), lambda x: float(all((x[f] >= t) == above for f, t, above in lines))


def list_boxes(thresholds, allowed):
    """Every conjunction of one to three intervals, one end of which is finite."""
    by_feature = []
    for f, own in enumerate(thresholds):
        ends = [-np.inf, *own, np.inf]
        by_feature.append([Interval(f, a, b) for a, b in combinations(ends, 2) if (a, b) != (-np.inf, np.inf)])
    for length in (1, 2, 3):
        for features in combinations(range(len(thresholds)), length):
            if all(pair in allowed for pair in combinations(features, 2)):
                for box in product(*(by_feature[f] for f in features)):
                    yield Rule(box, 1), lambda x, box=box: float(all(i.low <= x[i.feature] < i.high for i in box))


KINDS = [
    ("trees", oracles.DepthTwoTrees, list_trees),
    ("rules", oracles.PairRules, list_rules),
    ("boxes", oracles.Boxes, list_boxes),
    ("deep trees", oracles.DepthThreeTrees, list_deep_trees),
]


def check_pricing(case, number):
    """Return what is wrong with the answers to random weights, with and without exclusions."""
    random, n = np.random.default_rng(number), len(case.X)
    k = int(random.integers(1, 3))
    s = random.integers(-3, 4, (n, k)).astype(float) if random.random() < 0.5 else random.normal(size=(n, k))
    s[random.random(n) < random.choice([0.0, 0.4])] = 0.0
    edges = case.H.T @ s
    of_side = edges * case.sides[:, None]
    sizes = np.where(case.sides == 0, np.abs(edges).max(axis=1), of_side.max(axis=1))
    rising = np.where(case.sides[:, None] == 0, edges, np.maximum(of_side, 0))
    ranked = np.argsort(-sizes, kind="stable")
    out = [*ranked[: random.integers(0, 30)].tolist(), *random.integers(0, len(sizes), 3).tolist()]
    exclude = [negate(case.hypotheses[j]) if random.random() < 0.5 else case.hypotheses[j] for j in out]
    wrong = []
    if case.oracle.n_hypotheses != len(case.hypotheses):
        wrong.append(f"{case.oracle.n_hypotheses} hypotheses of {len(case.hypotheses)}")
    for left_out, names in (([], []), (out, exclude)):
        priced = case.oracle.price(s, names)
        rest = np.delete(sizes, left_out)
        best = float(rest.max()) if rest.size else 0.0
        top = float(sizes.max())
        wrong += [
            f"{what} {found} for {truth}"
            for what, found, truth in (
                ("edge bound", priced.edge_bound, top),
                ("bound outside", priced.outside_bound, best),
                ("best edge", priced.columns[0].edge if priced.columns else 0.0, best),
                ("sum of squares above 0", priced.rising_square_sum, float((rising**2).sum())),
                ("sum of squares", priced.edge_square_sum, float((edges**2).sum())),
            )
            if not abs(found - truth) <= ROUNDING * (1 + abs(truth))
            and not (found == inf and what in UNKNOWN.get(case.kind, ()))
        ]
        if priced.edge_bound < top - 1e-15 * n or priced.outside_bound < best - 1e-15 * n:
            wrong.append("a bound below the edge")
        for column in priced.columns:
            own = column.hypothesis(case.X) @ s
            if {column.hypothesis, negate(column.hypothesis)} & set(names):
                wrong.append(f"{column.hypothesis}, which was excluded")
            if not abs(own.max() - column.edge) <= ROUNDING * (1 + abs(column.edge)):
                wrong.append(f"{column.hypothesis} of the edge {own.max()}, not {column.edge}")
        if len({column.hypothesis for column in priced.columns}) < len(priced.columns):
            wrong.append("a hypothesis twice")
    return wrong


def check_norms(case, number):
    """Return what is wrong with the answers where a norm over the outputs ranks the edges."""
    random, n = np.random.default_rng(number), len(case.X)
    s, order = random.normal(size=(n, int(random.integers(1, 4)))), float(random.choice([1.0, 1.5, 2.0, 4.0]))
    sizes = np.linalg.norm(case.H.T @ s, order, axis=1)
    out = [*np.argsort(-sizes, kind="stable")[: random.integers(0, 10)].tolist(), int(random.integers(len(sizes)))]
    exclude, rest = [case.hypotheses[j] for j in out], np.delete(sizes, out)
    priced = case.oracle.price(s, exclude, row_norm=order)
    best, top = float(rest.max(initial=0.0)), float(sizes.max())
    wrong = [
        f"{what} {found} for {truth} by the norm of order {order}"
        for what, found, truth in (
            ("edge bound", priced.edge_bound, top),
            ("bound outside", priced.outside_bound, best),
            ("best edge", priced.columns[0].edge if priced.columns else 0.0, best),
        )
        # trees of depth 3 are ranked by single outputs
        if case.kind != "deep trees" and not abs(found - truth) <= ROUNDING * (1 + abs(truth))
    ]
    if priced.edge_bound < top * (1 - 1e-15) or priced.outside_bound < best * (1 - 1e-15):
        wrong.append("a bound below the norm of the edges")
    for column in priced.columns:
        size = float(np.linalg.norm(column.hypothesis(case.X) @ s, order))
        if abs(size - column.edge) > ROUNDING * (1 + size) or {column.hypothesis, negate(column.hypothesis)} & {
            *exclude
        }:
            wrong.append(f"{column.hypothesis} of the norm {size}, not {column.edge}, or excluded")
    return wrong


def check_costs(case, number):
    """Return what is wrong with the answers where a hypothesis costs by its features."""
    random = np.random.default_rng(number)
    of_feature = random.choice([0.5, 1.0, 3.0], case.X.shape[1])

    def cost(hypothesis):
        if isinstance(hypothesis, Constant):
            return 1.0
        looks = hypothesis.feature_shares[0] if hasattr(hypothesis, "feature_shares") else [hypothesis.feature]
        return float(sum(of_feature[j] for j in set(looks)))

    s = random.normal(size=len(case.X))
    costs = np.array([cost(h) for h in case.hypotheses])
    edges = case.H.T @ s / costs
    truth = float(np.where(case.sides == 0, np.abs(edges), case.sides * edges).max())
    priced = oracles.Costed(case.oracle, cost, least=0.5).price(s)
    found = priced.columns[0]
    wrong = []
    if priced.edge_bound < truth * (1 - 1e-15):
        wrong.append(f"a bound of {priced.edge_bound} for {truth} with costs {of_feature}")
    if abs(found.values @ s - found.edge) > ROUNDING:
        wrong.append(f"{found.hypothesis} of the edge {found.values @ s}, not {found.edge}")
    is_off = priced.edge_bound > max(truth, 0.0) + ROUNDING or not abs(found.edge - truth) <= ROUNDING
    if len(case.hypotheses) < MOST_EXACT and is_off:
        wrong.append(f"{found.edge} and a bound of {priced.edge_bound} for {truth} with costs {of_feature}")
    return wrong


def check_optimum(case, number):
    """Return what is wrong with a run to the end: its objective, or its proof."""
    random, n = np.random.default_rng(number), len(case.X)
    y, C = np.where(random.random(n) < 0.5, 1.0, -1.0), float(10.0 ** random.uniform(-1, 1))
    y[:2] = 1.0, -1.0
    run = column_generation(formulations.soft_margin(C), case.oracle, y, tol=1e-8)
    H = np.hstack([case.H[:, case.sides >= 0], -case.H[:, case.sides <= 0]])
    w = cp.Variable(H.shape[1], nonneg=True)
    objective = cp.sum(w) + C * cp.sum(cp.pos(1 - cp.multiply(y, H @ w)))
    truth = cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")
    wrong = []
    if abs(run.certificate.primal - truth) > 1e-6 * (1 + abs(truth)):
        wrong.append(f"objective {run.certificate.primal} for {truth}")
    if not run.certificate.proven or not run.certificate.holds(1e-8):
        wrong.append(f"no proof: {run.certificate}")
    return wrong


def check(number):
    """Return all that is wrong with a case, of which every tenth is solved to the end."""
    case = draw(number)
    if case is None:
        return []
    wrong = check_pricing(case, number)
    wrong += check_norms(case, number) + check_costs(case, number)
    if number % 10 == 0:
        wrong += check_optimum(case, number)
    return [f"{text} [{case.text}]" for text in wrong]


def main(count, first=0):
    found = {number: wrong for number in range(first, first + count) if (wrong := check(number))}
    for number, wrong in found.items():
        sys.stdout.write("".join(f"{number}  {text}\n" for text in wrong))
    sys.stdout.write(f"{len(found)} of {count} cases from {first} disagree\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
