"""Check a proof of how far an ensemble is from the best of its formulation, with Python's standard library alone.

    python checker.py PROOF DATA

DATA is the file that the proof is about, CSV or LIBSVM. The proof holds an ensemble (w, b) and multipliers u, one for
each sample, as rational numbers, and the formulation: minimise ``loss(z) + penalty(w)`` with margins ``z_i = y_i
(f(x_i) + b)``. For every u with ``u_i >= 0`` (and ``sum y_i u_i = 0`` where there is an intercept) weak duality says

    optimum  >=  min_z [loss(z) + u'z]  -  max_w [edges'w - penalty(w)],      edge of h = sum_i u_i y_i h(x_i).

So the optimum lies between that number and the objective of (w, b), whoever made u, w and b. Both are computed anew
here. Sums are of integers over one denominator, so they are exact; exp and ln, where a loss has them, are bounded to
the safe side. The edges of *all* stumps of a feature come from sorting its values and adding up ``u_i y_i`` from one
end: the stump between two neighbours has the edge ``total - 2 (sum below)``. In a pool every column of the data is a
hypothesis, with its negation unless it is one-sided, which takes weights from 0 only. A proof that no margins above 0
can be had, where a hard margin asks for 1, has no model: its u adds up to 1, and no edge is above 0.

What is printed is PASS with the claim, or FAIL with the first thing that fails; the exit status is 0 or 1. Nothing of
the proof is believed: hashes are those of the data, the claim is written anew from the numbers and compared.
"""

import csv
import hashlib
import json
import re
import sys
from bisect import bisect_left, bisect_right
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from math import isfinite, lcm

KEYS = {"cvxens proof", "claim", "not established", "data", "formulation", "model", "multipliers", "values", "sha256"}
NOT_ESTABLISHED = [
    "anything about samples that are not in the data: a small gap says nothing of generalisation",
    "anything about data that were cleaned, coded or chosen before they came into the file",
    "that the formulation, its prices or its set of hypotheses were a good choice",
    "that other parameters, or hypotheses of other kinds, would not do better",
    "who made the model, when, or how long it took",
]
LOSSES, PENALTIES = {"hinge", "hard", "soft minimum", "exponential", "logistic"}, {"l1", "squared l2", "simplex"}
HYPOTHESES, POOLS = {"stumps", "stumps and constant", "pool", "one-sided pool"}, {"pool", "one-sided pool"}
UP = Context(prec=50, rounding=ROUND_CEILING, Emin=-(10**6), Emax=10**6)
DIGITS = 10**12  # of the decimals in the claim


class Refused(Exception):
    """The first thing that fails."""


def require(condition, complaint):
    """Refuse the proof where a condition does not hold."""
    if not condition:
        raise Refused(complaint)


def rational(text):
    """Read "p/q" in lowest terms, the one way to write a number."""
    readable = isinstance(text, str) and re.fullmatch(r"-?\d+(/\d+)?", text, re.ASCII)
    require(readable and str(Fraction(text)) == text, f"{text!r:.60} is no rational number in lowest terms")
    return Fraction(text)


def fields(record, names, where):
    """Return the values of a record that has these fields and no others."""
    names = names.split(", ")
    require(isinstance(record, dict) and set(record) == set(names), f"{where} has other fields than {names}")
    return [record[name] for name in names]


def digest(lines):
    """Hash lines: features as doubles in hexadecimal with commas, labels as -1 and 1, or a document in one."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def parse(text):
    """Return the double that a text is, or the text; -0.0 is 0.0."""
    try:
        return float(text) + 0.0
    except ValueError:
        return text


def number(text, where="a threshold of the model"):
    """Read a finite double."""
    value = parse(text)
    require(isinstance(value, float) and isfinite(value), f"{where} has {text!r:.40} where a number is due")
    return value


def read_csv(path, separator, header, target, features):
    """Return the text of the target and the features of every sample."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, delimiter=separator) if row]
    if header:
        names = [cell.strip() for cell in rows.pop(0)]
        require(all(names.count(name) == 1 for name in (target, *features)), "the data have not the columns named")
        target, features = names.index(target), [names.index(name) for name in features]
    require(all(len(row) > max(target, *features) for row in rows), "a line of the data has too few cells")
    X = [[number(row[j], f"row {i} of the data") for j in features] for i, row in enumerate(rows, 1)]
    return [row[target].strip() for row in rows], X


def read_libsvm(path, n_features):
    """Return the text of the target and the features of every sample; what is not there is 0."""
    texts, X = [], []
    with open(path, encoding="utf-8") as file:
        for cells in filter(None, (line.split("#")[0].split() for line in file)):
            row = [0.0] * n_features
            for index, value in (cell.split(":") for cell in cells[1:]):
                require(index.isdecimal() and 0 < int(index) <= n_features, f"the data have a feature {index!r:.40}")
                row[int(index) - 1] = number(value, "the data")
            texts.append(cells[0])
            X.append(row)
    return texts, X


def read_data(path, data):
    """Return features and labels if they are those that the proof is about."""
    names = "kind, separator, header, target, features, labels, samples, X sha256, y sha256"
    kind, separator, header, target, features, labels, n_samples, of_X, of_y = fields(data, names, "data")
    require(kind in {"csv", "libsvm"} and isinstance(features, list) and features, "data: kind and features")
    if kind == "csv":
        texts, X = read_csv(path, separator, header, target, features)
    else:
        require([separator, header, target] == ["", False, 0], "data: LIBSVM has no separator, header, target")
        texts, X = read_libsvm(path, len(features))
    negative, positive = map(parse, labels)
    require(negative != positive, "data: the two labels are one")
    require(len(X) == n_samples > 0, f"the data have {len(X)} samples, the proof another number")
    y = [{negative: -1, positive: 1}.get(parse(text), 0) for text in texts]
    require(all(y), "the data have a label that the proof does not name")
    require(digest(",".join(map(float.hex, row)) for row in X) == of_X, "the features are others: their hash differs")
    require(digest(y) == of_y, "the labels are others: their hash differs")
    return X, y


def bound_above(function, r):
    """Bound exp r or ln r from above: decimal rounds both correctly, here at r rounded up, then one digit further."""
    value = getattr(UP.divide(Decimal(r.numerator), Decimal(r.denominator)), function)(UP)
    return Fraction(value.next_plus(UP))


def evaluate_edges(X, s, hypotheses):
    """Return the largest edge of all hypotheses in size, and the sum of their squares; s_i = u_i y_i are integers."""
    total = sum(s)
    largest = abs(total) if hypotheses == "stumps and constant" else 0
    squares = largest**2
    for column in zip(*X, strict=True):
        order, edges = sorted(range(len(s)), key=column.__getitem__), []
        if hypotheses in POOLS:
            edges = [sum(Fraction(v) * e for v, e in zip(column, s, strict=True))]
        for i, j, below in zip(order, order[1:], accumulate(s[i] for i in order), strict=False):
            if column[i] < column[j] and hypotheses not in POOLS:
                edges.append(total - 2 * below)
        edges = [max(e, 0) if hypotheses == "one-sided pool" else e for e in edges]
        largest, squares = max(largest, *map(abs, edges), 0), squares + sum(e * e for e in edges)
    return largest, squares


def evaluate_scores(X, model, hypotheses):
    """Return the scores f + b as integers, their denominator, and the weights, one for each hypothesis."""
    terms, b = fields(model, "terms, intercept", "model")
    weights, columns, intercept = {}, [sorted(column) for column in zip(*X, strict=True)], rational(b)
    for term in terms:
        feature, threshold, weight = fields(term, "feature, threshold, weight", "a term of the model")
        if feature is None:  # the constant hypothesis, +1 everywhere
            require(threshold is None and hypotheses == "stumps and constant", "a constant, which is not in the set")
        else:
            require(type(feature) is int and 0 <= feature < len(columns), "a term of a feature that is not there")
            require(type(threshold) is (type(None) if hypotheses in POOLS else str), "a threshold of another kind")
            # thresholds between the same neighbours are one stump: its place is the number of samples below
            threshold = 0 if hypotheses in POOLS else bisect_left(columns[feature], number(threshold))
            require(hypotheses in POOLS or 0 < threshold < len(X), "a stump that does not split the samples")
        weights[feature, threshold] = weights.get((feature, threshold), 0) + rational(weight)
    denominator = lcm(intercept.denominator, *(w.denominator for w in weights.values()))
    scores = [int((intercept + weights.get((None, None), 0)) * denominator)] * len(X)
    for feature in {feature for feature, _ in weights} - {None}:
        column = [row[feature] for row in X]
        found = sorted((place, int(w * denominator)) for (j, place), w in weights.items() if j == feature)
        total = sum(w for _, w in found)
        if hypotheses in POOLS:
            parts = [total * Fraction(v) for v in column]
        else:  # minus all weights, plus twice those of the stumps that the sample is not below
            places, sums = [place for place, _ in found], list(accumulate([-total, *(2 * w for _, w in found)]))
            parts = [sums[bisect_right(places, bisect_left(columns[feature], v))] for v in column]
        scores = [f + part for f, part in zip(scores, parts, strict=True)]
    return scores, denominator, weights.values()


def bound_loss(loss, prices, u):
    """Return a number that ``min_z loss(z) + u'z`` is not below, -1 times the conjugate at -u."""
    require(min(u) >= 0, "a multiplier below 0")
    capped = loss in {"hinge", "logistic", "soft minimum"}
    require(not capped or all(v <= c for v, c in zip(u, prices, strict=True)), "a multiplier above its price")
    require(loss != "soft minimum" or sum(u) == 1, "multipliers that do not add up to 1")
    if loss in {"hinge", "hard", "soft minimum"}:
        return sum(u) * (loss != "soft minimum")
    pairs = list(zip(u, prices, strict=True))
    pairs += [(c - v, c) for v, c in pairs] if loss == "logistic" else []
    entropy = -sum(v * bound_above("ln", v / c) for v, c in pairs if v)
    return entropy + (sum(u) if loss == "exponential" else 0)


def evaluate_loss(loss, prices, z):
    """Return a number that the loss at the margins z is not above."""
    if loss == "hard":
        require(min(z) >= 1, "a margin below 1")
        return 0
    if loss in {"hinge", "soft minimum"}:
        # of -max rho - sum D (rho - z)+ the best rho is where the prices up to it reach 1; that of the hinge is 1
        reached = accumulate(sorted(zip(z, prices, strict=True)), lambda at, pair: (pair[0], at[1] + pair[1]))
        rho = Fraction(1) if loss == "hinge" else next(at for at, price in reached if price >= 1)
        slack = sum(c * (rho - v) for v, c in zip(z, prices, strict=True) if v < rho)
        return slack if loss == "hinge" else slack - rho
    exps = [bound_above("exp", -v) for v in z]
    values = exps if loss == "exponential" else [bound_above("ln", 1 + v) for v in exps]
    return sum(c * v for v, c in zip(values, prices, strict=True))


def evaluate(proof, X, y):
    """Return objective and bound of the minimum, recomputed; the objective is None where there is no feasible point."""
    names = "loss, prices, penalty, weight, intercept, hypotheses"
    loss, prices, penalty, weight, intercept, hypotheses = fields(proof["formulation"], names, "formulation")
    require(loss in LOSSES and penalty in PENALTIES and hypotheses in HYPOTHESES, "formulation: unknown terms")
    require(isinstance(intercept, bool) and (loss == "soft minimum") == (penalty == "simplex"), "formulation: terms")
    prices, weight = [rational(c) for c in prices] * (len(y) if len(prices) == 1 else 1), rational(weight)
    require(len(prices) == len(y) and min(prices) > 0 and weight > 0, "formulation: a price above 0 for every sample")
    require((loss != "hard" or set(prices) == {1}) and (penalty != "simplex" or weight == 1), "formulation: prices")
    denominator, numerators = fields(proof["multipliers"], "denominator, numerators", "multipliers")
    q, u = rational(denominator), [rational(v) for v in numerators]
    require(q > 0 and len(u) == len(y) and all(v.denominator == 1 for v in [q, *u]), "multipliers: an integer each")
    s = [int(v) * sign for v, sign in zip(u, y, strict=True)]
    require(not intercept or sum(s) == 0, "sum of y u is not 0, which the intercept asks for")
    largest, squares = evaluate_edges(X, s, hypotheses)
    u, largest, squares = [v / q for v in u], Fraction(largest) / q, Fraction(squares) / q**2
    if proof["model"] is None:
        require(loss == "hard" and min(u) >= 0 and sum(u) == 1 and largest == 0, "no proof that there are no margins")
        return None, None
    require(penalty != "l1" or largest <= weight, "an edge above the weight of the penalty")
    bound = bound_loss(loss, prices, u) - {"l1": 0, "squared l2": squares / (2 * weight), "simplex": largest}[penalty]
    scores, d, weights = evaluate_scores(X, proof["model"], hypotheses)
    size = sum(map(abs, weights), Fraction(0))
    require(hypotheses != "one-sided pool" or size == sum(weights), "a weight below 0")
    require(intercept or rational(proof["model"]["intercept"]) == 0, "an intercept that the formulation has not")
    require(penalty != "simplex" or size == 1, "weights whose sizes do not add up to 1")
    objective = evaluate_loss(loss, prices, [Fraction(f * sign, d) for f, sign in zip(scores, y, strict=True)])
    on_weights = {"l1": size, "squared l2": sum(w * w for w in weights) * Fraction(1, 2), "simplex": 0}[penalty]
    return objective + weight * on_weights, bound


def decimal(value, up):
    """Write a number with twelve digits after the point, rounded up or down."""
    digits = (value * DIGITS).__ceil__() if up else (value * DIGITS).__floor__()
    return f"{'-' * (digits < 0)}{abs(digits) // DIGITS}.{abs(digits) % DIGITS:012d}"


def state_claim(proof, objective, bound):
    """Write the claim in one sentence."""
    form, n_features = proof["formulation"], len(proof["data"]["features"])
    over = f"Over all {form['hypotheses']} on these {proof['data']['samples']} samples of {n_features} features,"
    if objective is None:
        return f"{over} no weighted vote has a margin above 0 on every sample."
    exact = "exactly the least" if objective == bound else f"and the least is not below {decimal(bound, False)}"
    terms = f"{form['loss']} loss + {form['penalty']} penalty"
    return f"{over} the model's {terms} is at most {decimal(objective, True)}, {exact}."


def check(proof, path):
    """Return the claim of a proof if it holds for the data at `path`; raise Refused with the first thing that fails."""
    require(isinstance(proof, dict) and set(proof) == KEYS, "the proof has other fields than it should")
    require(json.dumps(proof["cvxens proof"]) == "1", "a version that is not read here")
    require(proof["not established"] == NOT_ESTABLISHED, "the list of what is not established was changed")
    content = {key: value for key, value in proof.items() if key != "sha256"}
    require(
        digest([json.dumps(content, sort_keys=True)]) == proof["sha256"],
        "the proof is not as it was written: its hash differs",
    )
    objective, bound = evaluate(proof, *read_data(path, proof["data"]))
    stated = fields(proof["values"], "objective, bound", "values")
    require([v if v is None else rational(v) for v in stated] == [objective, bound], "the values are not those stated")
    require(objective is None or bound <= objective, "the bound is above the objective")
    require(proof["claim"] == state_claim(proof, objective, bound), "the claim is another one than the numbers make")
    return proof["claim"]


def main(arguments):
    """Check PROOF against DATA, print the outcome, and return the exit status."""
    sys.set_int_max_str_digits(10**6)  # numerators of exact optima may have thousands of digits
    try:
        with open(arguments[0], encoding="utf-8") as file:
            print(f"PASS: {check(json.load(file), arguments[1])}")
    except Exception as error:  # whatever is wrong with one of the files, nothing is proven
        print(f"FAIL: {error}" if isinstance(error, Refused) else f"FAIL: {type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
