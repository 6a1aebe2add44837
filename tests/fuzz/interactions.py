"""Random samples with ties, gaps and weights of 0: oracles over several features beside lists of all hypotheses.

Every hypothesis of a set is written down by plain loops over tests and signs, and evaluated sample by sample. Held
against it are the number of hypotheses, the edges, the bounds with and without exclusions, the sum of squares, and the
optimum of a hinge loss with an l1 penalty over the whole set, by cvxpy.
"""

from dataclasses import dataclass
from itertools import combinations, product
from math import fsum, inf
from typing import Any

import cvxpy as cp
import numpy as np

from cvxens.colgen import column_generation, formulations, oracles
from cvxens.hypotheses import Among, Branch, Constant, Interval, LevelStump, Rule, Stump, negate

ROUNDING = 1e-11
"""What sums of a few numbers below 10 are off by, with much to spare."""


SQUARES = ("sum of squares", "sum of squares above 0")
UNKNOWN = {"boxes": SQUARES, "deep trees": SQUARES}
"""What an oracle does not tell."""

MOST_BINS = {"deep trees": {1: 5, 2: 3, 3: 2}}
"""By the number of features, so that no list is too long."""


MOST_WITH_GAPS = {"deep trees": 1}
"""Features up to which there are gaps, likewise."""


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
    if random.random() < 0.2:
        X += random.choice([-1e12, 0.0, 1e12], d)
    kind, make, enumerate_all = KINDS[number % len(KINDS)]
    if random.random() < 0.4 and d <= MOST_WITH_GAPS.get(kind, 3):
        X[(random.random(X.shape) < 0.4) & (random.random(d) < 0.7)] = np.nan
    if all(len(np.unique(values)) < 2 for values in X.T):
        return None
    pairs = list(combinations(range(d), 2))
    options = {
        "n_bins": int(random.integers(2, 6)),
        "constant": bool(random.random() < 0.7),
        "interactions": None if random.random() < 0.6 else [p for p in pairs if random.random() < 0.5],
        "forbidden": [p for p in pairs if random.random() < 0.2],
    }
    most = MOST_BINS.get(kind, {}).get(d, 6)
    options["n_bins"] = min(options["n_bins"], 2 if most < 5 and np.isnan(X).any() else most)
    if kind == "rules" and random.random() < 0.5:
        options["signs"] = random.choice([-1, 0, 1], d)
    oracle = make(X, **options)
    allowed = [(a, b) for a, b in pairs if options["interactions"] is None or (a, b) in options["interactions"]]
    allowed = [pair for pair in allowed if pair not in options["forbidden"]]
    listed = list(enumerate_all(list_tests(X, oracle), {*allowed, *((b, a) for a, b in allowed)}))
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
    wanted = {signs[i.feature] * (1 if i.high == inf else -1) for i in hypothesis.intervals if isinstance(i, Interval)}
    wanted -= {0}
    return None if len(wanted) > 1 else float(wanted.pop()) if wanted else 0.0


@dataclass(frozen=True)
class Test:
    """The test x[feature] >= threshold, which missing values pass, +1, or fail, -1; 0 where there are none.

    Of the threshold -inf, it is whether the value is known.
    """

    feature: int
    threshold: float
    way: int

    def __call__(self, x):
        value = x[self.feature]
        return self.way > 0 if np.isnan(value) else value >= self.threshold

    def as_stump(self, sign):
        """Return the hypothesis that is `sign` where it holds."""
        if self.threshold == -inf:
            return LevelStump(self.feature, (), -sign, 1)
        return Stump(self.feature, self.threshold, sign, self.way)

    def as_tree(self, above, below):
        """Return the tree of two halves."""
        if isinstance(above, Constant) and isinstance(below, Constant):
            return self.as_stump(above.sign)
        return Branch(self.as_stump(1), above, below)

    def as_condition(self, above):
        """Return the condition that it holds, or does not."""
        if self.threshold == -inf:
            return Among(self.feature, (), inside=False) if above else Among(self.feature, (), missing=True)
        missing = self.way == (1 if above else -1)
        return Interval(self.feature, *((self.threshold, inf) if above else (-inf, self.threshold)), missing)


def list_tests(X, oracle):
    """All tests of every feature, at all middles between neighbouring values; if these are too many, the oracle's."""
    found = []
    for j, own in enumerate(oracle.binned.thresholds):
        values = np.unique(X[~np.isnan(X[:, j]), j])
        middles = ((values[:-1] + values[1:]) / 2).tolist()
        assert set(own.tolist()) <= set(middles)
        gaps = np.isnan(X[:, j]).any()
        tests = [Test(j, t, way) for way in ((-1, 1) if gaps else (0,)) for t in own.tolist()]
        found.append([Test(j, -inf, -1), *tests] if gaps and values.size else tests)
    return found


def list_cells(tests):
    """A value of each cell between the thresholds of the tests of one feature, and a missing one if there are any."""
    cuts = sorted({test.threshold for test in tests} - {-inf})
    low, gaps = cuts[:1] and [np.nextafter(cuts[0], -inf)], [np.nan] if any(t.way for t in tests) else []
    return [*low, *(cuts or [0.0]), *gaps]


def narrow(tests, cells, root, above):
    """The tests and the cells of every feature in one half: those that split it, each in another way.

    Of tests of the root's feature that split it alike, one that sends missing values as the root does comes first, then
    that of the highest threshold.
    """
    kept, left, ways = [list(own) for own in tests], [list(own) for own in cells], set()
    f = root.feature
    left[f] = [value for value in cells[f] if root({f: value}) == above]
    kept[f] = []
    for test in sorted(tests[f], key=lambda t: (t.way != root.way, -t.threshold)):
        way = tuple(bool(test({f: value})) for value in left[f])
        if len(set(way)) > 1 and not {way, tuple(not part for part in way)} & ways:
            ways.add(way)
            kept[f].append(test)
    return kept, left


def list_trees(tests, allowed, cells=None):
    """Every tree of depth 1 or 2 that has no split without effect, one of its two signs."""
    cells = cells or [list_cells(own) for own in tests]
    for root in (test for own in tests for test in own):
        halves = []
        for side in (True, False):
            kept, _ = narrow(tests, cells, root, side)
            halves.append([None, *(t for g, own in enumerate(kept) for t in own if meet(root, g, allowed))])
        for up, down, sign in product(*halves, (1, -1)):
            if up is not None or down is not None or sign < 0:
                yield (
                    root.as_tree(as_half(up, 1), as_half(down, sign)),
                    lambda x, root=root, up=up, down=down, sign=sign: vote(up, x) if root(x) else sign * vote(down, x),
                )


def list_deep_trees(tests, allowed):
    """Every tree of depth 1 to 3 that has no split without effect, one of its two signs."""
    cells = [list_cells(own) for own in tests]
    for root in (test for own in tests for test in own):
        halves = []
        for side in (True, False):
            kept, left = narrow(tests, cells, root, side)
            kept = [own if meet(root, g, allowed) else [] for g, own in enumerate(kept)]
            halves.append([(Constant(1), lambda x: 1.0), *list_trees(kept, allowed, left)])
        for (above, vote_above), (below, vote_below), sign in product(*halves, (1, -1)):
            if not isinstance(above, Constant) or not isinstance(below, Constant) or sign < 0:
                yield (
                    root.as_tree(above, below if sign > 0 else negate(below)),
                    lambda x, root=root, up=vote_above, down=vote_below, sign=sign: (
                        up(x) if root(x) else sign * down(x)
                    ),
                )


def meet(root, g, allowed):
    """True if a feature may be asked below a root."""
    return g == root.feature or (root.feature, g) in allowed


def as_half(split, sign):
    return Constant(sign) if split is None else split.as_stump(sign)


def vote(split, x):
    return 1.0 if split is None or split(x) else -1.0


def list_rules(tests, allowed):
    """Every rule of one or two half-lines."""
    lines = [(test, side) for own in tests for test in own for side in (True, False)]
    for a in lines:
        yield as_rule([a])
    for a, b in combinations(lines, 2):
        if (a[0].feature, b[0].feature) in allowed:
            yield as_rule([a, b])


def as_rule(lines):
    conditions = tuple(test.as_condition(above) for test, above in lines)
    return Rule(conditions, 1), lambda x: float(all(test(x) == above for test, above in lines))


def list_boxes(tests, allowed):
    """Every conjunction of one to three intervals, with and without missing values, or of these alone."""
    by_feature = []
    for f, own in enumerate(tests):
        gaps = any(test.way for test in own)
        ends = [-inf, *sorted({test.threshold for test in own} - {-inf}), inf]
        runs = [Interval(f, a, b, missing) for a, b in combinations(ends, 2) for missing in {False, gaps}]
        runs.remove(Interval(f, -inf, inf, gaps))
        if gaps:
            runs.remove(Interval(f, -inf, inf))
            runs += [Among(f, (), inside=False), Among(f, (), missing=True)]
        by_feature.append(runs)
    for length in (1, 2, 3):
        for features in combinations([f for f, own in enumerate(tests) if own], length):
            if all(pair in allowed for pair in combinations(features, 2)):
                for box in product(*(by_feature[f] for f in features)):
                    yield Rule(box, 1), lambda x, box=box: float(all(is_within(i, x[i.feature]) for i in box))


def is_within(condition, value):
    if np.isnan(value):
        return condition.missing
    return condition.low <= value < condition.high if isinstance(condition, Interval) else not condition.missing


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
            values = column.hypothesis(case.X)
            own = values @ s
            if {column.hypothesis, negate(column.hypothesis)} & set(names):
                wrong.append(f"{column.hypothesis}, which was excluded")
            if not abs(own.max() - column.edge) <= ROUNDING * (1 + abs(column.edge)) or (column.values != values).any():
                wrong.append(f"{column.hypothesis} of the edge {own.max()}, not {column.edge}")
        if len({column.hypothesis for column in priced.columns}) < len(priced.columns):
            wrong.append("a hypothesis twice")
    return wrong


def check_set(case, number):
    """Return what is wrong with what an oracle says that its set has: all that is listed, nothing with other values."""
    if case.kind != "trees":
        return []
    random, of_both = np.random.default_rng(number), [*case.hypotheses, *map(negate, case.hypotheses)]
    wrong = [f"no {h} in the set" for h in of_both if not case.oracle.has(h)]
    splits = [h for h in of_both if isinstance(h, Stump | LevelStump)] + [Stump(0, 0.123, 1), Constant(1)]
    values = {tuple(h(case.X)) for h in of_both}
    for _ in range(100):
        root, *halves = (splits[k] for k in random.integers(len(splits), size=3))
        tree = Branch(root, *halves) if random.random() < 0.9 else halves[0]
        if case.oracle.has(tree) and tuple(tree(case.X)) not in values:
            wrong.append(f"{tree} in the set")
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
        signed = {column.hypothesis, negate(column.hypothesis)}
        if abs(size - column.edge) > ROUNDING * (1 + size) or signed & {*exclude}:
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
    # sums with one rounding each, as a bound may be below what more of them make of the truth
    edges = np.array([fsum(h * s) for h in case.H.T]) / costs
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
        return "", []
    wrong = [each for of in (check_pricing, check_set, check_norms, check_costs) for each in of(case, number)]
    if number % 10 == 0:
        wrong += check_optimum(case, number)
    return "; ".join(wrong) + (f" [{case.text}]" if wrong else ""), [case.kind]
