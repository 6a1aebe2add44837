"""The learner once more, in plain Python on lists of rows, to compare with."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import log2

from scipy.optimize import brentq
from scipy.stats import beta

TINY = 1e-10


@dataclass
class Node:
    cases: list  # of (row, label, weight)
    feature: int | None = None
    cut: float | None = None
    children: list = field(default_factory=list)


def entropy(weights):
    total = sum(weights)
    return -sum(w / total * log2(w / total) for w in weights if w > 0) if total > 0 else 0.0


def by_label(cases):
    sums = {}
    for _, label, weight in cases:
        sums[label] = sums.get(label, 0.0) + weight
    return sums


def size(cases):
    return sum(weight for _, _, weight in cases)


def branches(cases, feature, categories, cut):
    """Divide; known cases to their branch, the others to all branches that got a known case."""
    names = categories or ["<=", ">"]
    known = {name: [] for name in names}
    unknown = []
    for case in cases:
        value = case[0][feature]
        if value is None:
            unknown.append(case)
        else:
            known[value if categories else ("<=" if value <= cut else ">")].append(case)
    total = sum(size(part) for part in known.values())
    return [
        part + [(row, label, weight * size(part) / total) for row, label, weight in unknown] if part else []
        for part in known.values()
    ]


def gain_and_ratio(cases, feature, categories, cut):
    known = [case for case in cases if case[0][feature] is not None]
    parts = branches(known, feature, categories, cut)
    after = sum(size(part) / size(known) * entropy(by_label(part).values()) for part in parts)
    gain = size(known) / size(cases) * (entropy(by_label(known).values()) - after)
    info = entropy([*(size(part) for part in parts), size(cases) - size(known)])
    return gain, info, [size(part) for part in parts]


def candidate(cases, feature, categories, min_cases, n_classes):
    """Return (gain, split information, cut) of the best split on a feature, or None."""
    known = [case for case in cases if case[0][feature] is not None]
    if not known:
        return None
    if categories:
        gain, info, sizes = gain_and_ratio(cases, feature, categories, None)
        return (gain, info, None) if sum(s >= min_cases - TINY for s in sizes) >= 2 else None
    values = sorted({row[feature] for row, _, _ in known})
    smallest = max(min_cases, min(25, 0.1 * size(known) / n_classes)) - TINY
    cuts = [(low + high) / 2 for low, high in pairwise(values)]
    splits = [(*gain_and_ratio(cases, feature, categories, cut), cut) for cut in cuts]
    allowed = [(gain, info, cut) for gain, info, sizes, cut in splits if min(sizes) >= smallest]
    if not allowed:
        return None
    gain, info, cut = next(split for split in allowed if split[0] >= max(allowed)[0] - TINY)
    return gain - log2(len(allowed)) / size(cases), info, cut


def choose(cases, features, min_cases, n_classes):
    """Return (feature, cut) by gain ratio among the splits of at least average gain, or None."""
    found = [candidate(cases, f, categories, min_cases, n_classes) for f, categories in enumerate(features)]
    useful = {f: split for f, split in enumerate(found) if split is not None and split[0] > TINY}
    if not useful:
        return None
    average = sum(gain for gain, _, _ in useful.values()) / len(useful)
    best, best_ratio = None, 0.0
    for f, (gain, info, cut) in useful.items():
        if gain >= average - TINY and gain / info > best_ratio + TINY:
            best, best_ratio = (f, cut), gain / info
    return best


def grow(rows, y, weights, features, *, max_depth=99, min_cases=2.0):
    """Grow a tree over `features`, a list of category lists (empty for numeric)."""
    n_classes = len(set(y))

    def divided(cases, depth):
        node = Node(cases)
        total = size(cases)
        if depth == 0 or total < 2 * min_cases - TINY or max(by_label(cases).values()) >= total - TINY:
            return node
        split = choose(cases, features, min_cases, n_classes)
        if split is None:
            return node
        node.feature, midpoint = split
        if midpoint is not None:
            values = [row[node.feature] for row in rows if row[node.feature] is not None]
            node.cut = max(value for value in values if value <= midpoint)
        for part in branches(cases, node.feature, features[node.feature], node.cut):
            node.children.append(divided(part, depth - 1) if part else Node([]))
        return node

    return divided(list(zip(rows, y, weights, strict=True)), max_depth)


def upper_limit(errors, cases, confidence):
    """Return the p at which `errors` or fewer of `cases` have probability `confidence`."""
    return brentq(lambda p: beta.cdf(p, errors + 1, cases - errors) - (1 - confidence), 0, 1, xtol=1e-14)


def predicted_errors(cases, confidence):
    if not cases:
        return 0.0
    total, right = size(cases), max(by_label(cases).values())
    return total * upper_limit(total - right, total, confidence)


def tree_errors(node, confidence):
    if node.feature is None:
        return predicted_errors(node.cases, confidence)
    return sum(tree_errors(child, confidence) for child in node.children)


def refill(node, cases, features):
    """Return the subtree with other cases sent down it."""
    copy = Node(cases, node.feature, node.cut)
    if node.feature is not None:
        parts = branches(cases, node.feature, features[node.feature], node.cut)
        copy.children = [refill(child, part, features) for child, part in zip(node.children, parts, strict=True)]
    return copy


def prune(node, features, confidence, slack=0.1):
    if node.feature is None:
        return node
    node.children = [prune(child, features, confidence, slack) for child in node.children]
    while node.feature is not None:
        sizes = [size(child.cases) for child in node.children]
        largest = next(k for k, s in enumerate(sizes) if s >= max(sizes) - TINY)
        raised = refill(node.children[largest], node.cases, features)
        as_leaf, as_tree, as_raised = (
            predicted_errors(node.cases, confidence),
            tree_errors(node, confidence),
            tree_errors(raised, confidence),
        )
        if as_leaf <= min(as_tree, as_raised) + slack:
            return Node(node.cases)
        if as_raised > as_tree + slack:
            break
        node = raised
    return node


def flatten(node, classes):
    """Return (feature or None, cut, class weights) of every node, breadth first."""
    found, waiting = [], [node]
    for here in waiting:
        sums = by_label(here.cases)
        found.append((here.feature, here.cut, [sums.get(label, 0.0) for label in classes]))
        waiting += here.children
    return found


def vote(node, row, features, inherited):
    """Return the class probabilities of a row, {label: probability}."""
    sums = by_label(node.cases) if node.cases else inherited
    if node.feature is None:
        total = sum(sums.values())
        return {label: weight / total for label, weight in sums.items()}
    value = row[node.feature]
    categories = features[node.feature]
    if value is None or (categories and value not in categories):
        shares = [size(child.cases) / size(node.cases) for child in node.children]
    else:
        at = categories.index(value) if categories else int(value > node.cut)
        shares = [float(k == at) for k in range(len(node.children))]
    votes = {}
    for share, child in zip(shares, node.children, strict=True):
        for label, probability in vote(child, row, features, sums).items():
            votes[label] = votes.get(label, 0.0) + share * probability
    return votes
