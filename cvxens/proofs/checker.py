"""Check a proof of how far an ensemble is from the best of its formulation, with Python's standard library alone.

    python checker.py PROOF DATA

The proof holds an ensemble, multipliers u, one for each sample of DATA, a CSV or LIBSVM file, and a formulation: to
minimise ``loss(z) + penalty(w)`` with margins ``z_i = y_i (f(x_i) + b)``. For every u that suits the loss, with ``sum
y_i u_i = 0`` where there is an intercept, weak duality says, whoever made u, w and b,

    optimum  >=  min_z [loss(z) + u'z]  -  max_w [edges'w - penalty(w)],      edge of h = sum_i u_i y_i h(x_i).
"""

import csv
import hashlib
import json
import re
import sys
from bisect import bisect_left
from collections import defaultdict
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate, combinations
from math import isfinite, isqrt, lcm

NOT_ESTABLISHED = [
    "anything about samples that are not in the data: a small gap says nothing of generalisation",
    "anything about data that were cleaned, coded or chosen before they came into the file",
    "that the formulation, its prices or its set of hypotheses were a good choice",
    "that other parameters, or hypotheses of other kinds, would not do better",
    "who made the model, when, or how long it took",
]
LOSSES, PENALTIES = {"hinge", "hard", "soft minimum", "exponential", "logistic"}, {"l1", "squared l2", "simplex"}
KERNELS = [f"functions of the {name} kernel" for name in ("stump", "perceptron", "laplacian", "gaussian")]
HYPOTHESES = dict.fromkeys(["stumps", "stumps and constant"], "edges by sorting")  # and how all are bounded
HYPOTHESES |= dict.fromkeys(["pool", "one-sided pool"], "edges by evaluation") | dict.fromkeys(KERNELS, "by u'Ku")
UP = Context(prec=50, rounding=ROUND_CEILING, Emin=-2000, Emax=2000)  # tiny results become 1e-2000
MOST_TOLD = 20  # texts of a column whose numbers the claim repeats
UNITS = 10**40  # of roots and exponentials in kernels


class Refused(Exception):
    """The first thing that fails."""


def require(condition, complaint):
    """Refuse the proof where a condition does not hold."""
    if not condition:
        raise Refused(complaint)


def rational(text):
    """Read "p/q" in lowest terms, the one way to write a number; longer ones would cost hours."""
    readable = isinstance(text, str) and re.fullmatch(r"-?\d{1,4300}(/\d{1,4300})?", text, re.ASCII)
    require(readable and str(Fraction(text)) == text, f"{text!r:.60} is no rational number in lowest terms")
    return Fraction(text)


def whole(text):
    """Read a rational number that has to be an integer."""
    number = rational(text)
    require(number.denominator == 1, f"{text!r:.60} is no integer")
    return int(number)


def fields(record, names, where):
    """Return the values of a record that has these fields and no others."""
    names = names.split(", ")
    require(isinstance(record, dict) and set(record) == set(names), f"{where} has other fields than {names}")
    return [record[name] for name in names]


def digest(lines):
    """Hash lines: features as doubles in hexadecimal with commas, labels as -1 and 1, or a document in one."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def parse(text):
    """Return the finite double that a text is, in decimal digits, or the text; -0.0 is 0.0."""
    written = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII)
    return float(text) + 0.0 if written and isfinite(float(text)) else text


def read_columns(path, kind, separator, header):
    """Return the cells of all columns: of a CSV file under names or numbers, of LIBSVM under indices, 0 the label."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        if kind == "csv":
            rows = [[cell.strip() for cell in row] for row in csv.reader(file, delimiter=separator, strict=True) if row]
            names = rows.pop(0) if header else range(len(rows[0]))
            require(len(set(names)) == len(names), "two columns of the data have one name")
            require(all(len(row) == len(names) for row in rows), "a line of the data has too few or too many cells")
            return dict(zip(names, zip(*rows, strict=True), strict=True))
        lines = [cells for line in file if (cells := line.split("#")[0].split())]
    columns = defaultdict(lambda: ["0"] * len(lines), {0: [label for label, *_ in lines]})  # what is left out is 0
    for i, (_, *cells) in enumerate(lines):
        pairs = dict(cell.split(":") for cell in cells)
        alone = len(pairs) == len(cells) and all(re.fullmatch("[1-9][0-9]*", index) for index in pairs)
        require(alone, f"sample {i + 1} has an index below 1, or one twice")
        for index, value in pairs.items():
            columns[int(index)][i] = value
    return columns


def read_coding(feature):
    """Return the column of a feature, numbers that texts in it stand for, and what others do, if not for themselves."""
    coded = isinstance(feature, dict)
    return fields(feature, "column, codes, others", "a coded feature") if coded else [feature, {}, None]


def read_samples(path, kind, separator, header, target, features, unused=None):
    """Return the text of the target and the features of every sample; what is `unused` has to be so, if it is given."""
    columns, codings, read = read_columns(path, kind, separator, header), list(map(read_coding, features)), []
    used = {target, *(column for column, _, _ in codings)}
    require(kind == "libsvm" or used <= columns.keys(), "the data have not the columns named")
    require(unused in (None, [name for name in columns if name not in used]), "the data have other columns unused")
    for column, codes, others in codings:
        read.append([parse(codes.get(text, text if others is None else others)) for text in columns[column]])
    return columns[target], list(zip(*read, strict=True))


def read_data(path, data):
    """Return features and labels if they are those that the proof is about."""
    names = "kind, separator, header, target, features, labels, unused, samples, X sha256, y sha256"
    kind, separator, header, target, features, labels, unused, n_samples, of_X, of_y = fields(data, names, "data")
    require(kind == "csv" or [kind, separator, header, target] == ["libsvm", "", False, 0], "data: a kind that is not")
    named = [target, *(read_coding(feature)[0] for feature in features)]
    known = str if header is True else int
    require(all(type(name) is known for name in named) and (header or min(named) >= 0), "data: columns of other kinds")
    require(target not in named[1:], "the target is among the features")
    texts, X = read_samples(path, kind, separator, header, target, features, unused)
    for i, row in enumerate(X, 1):
        require(all(isinstance(cell, float) for cell in row), f"row {i} of the data has a cell that is no number")
    require(len(set(zip(named[1:], zip(*X, strict=True), strict=True))) == len(features), "two features are one")
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
    """Return the largest edge, in size but for weights from 0, and the sum of squares; s_i = u_i y_i are integers."""
    total = sum(s)
    found = [total] if hypotheses == "stumps and constant" else []
    for column in zip(*X, strict=True):
        if "pool" in hypotheses:
            found.append(sum(Fraction(v) * e for v, e in zip(column, s, strict=True)))
            continue
        order = sorted(range(len(s)), key=column.__getitem__)
        for i, j, below in zip(order, order[1:], accumulate(s[i] for i in order), strict=False):
            if column[i] < column[j]:
                found.append(total - 2 * below)
    found = found if hypotheses == "one-sided pool" else [abs(edge) for edge in found]
    return max(found, default=0), sum(max(edge, 0) ** 2 for edge in found)


def evaluate_scores(X, terms, hypotheses):
    """Return the scores f, and the weights, one for each hypothesis, as integers."""
    weights, columns, pool = {}, list(zip(*X, strict=True)), "pool" in hypotheses
    tables = [sorted(column) for column in columns]
    for term in terms:
        feature, threshold, weight = fields(term, "feature, threshold, weight", "a term of the model")
        constant = feature is None and hypotheses == "stumps and constant"
        require(constant or (type(feature) is int and 0 <= feature < len(columns)), "a feature that is not there")
        # thresholds between the same neighbours are one stump: its place is the number of samples below
        place = None if threshold is None else bisect_left(tables[feature], parse(threshold))
        require(place is None if constant or pool else 0 < place < len(X), "a stump that does not split the samples")
        require((feature, place) not in weights, "a hypothesis with two weights")
        weights[feature, place] = whole(weight)
    scores = [weights.get((None, None), 0) - sum(w for (_, place), w in weights.items() if place)] * len(X)
    for feature, column in enumerate(columns):
        if pool:
            scores = [f + weights.get((feature, None), 0) * Fraction(v) for f, v in zip(scores, column, strict=True)]
            continue
        jumps = [weights.get((feature, place), 0) for place in range(len(X))]
        for i, below in zip(sorted(range(len(X)), key=column.__getitem__), accumulate(jumps), strict=True):
            scores[i] += 2 * below  # minus all weights, plus twice those of the stumps that it is not below
    return scores, list(weights.values())


def multiply_kernel(X, v, kernel, gamma):
    """Return K v, what it is off by at most, and the denominator of both, in integers, for integers v of sum 0."""
    # constants in K do not matter then: entries are -|x - x'|, as a sum or a root, or exp(-gamma |x - x'|^power) - 1
    q = lcm(*(cell.as_integer_ratio()[1] for row in X for cell in row))
    rows, f = [[int(Fraction(cell) * q) for cell in row] for row in X], [0] * len(X)
    if "stump" in kernel:
        for column in zip(*rows, strict=True):
            # sum_j v_j |x_i - x_j| = 2 (x_i sum v_j - sum v_j x_j) + sum_all v_j x_j, the first two sums up to x_i
            below, moment, total = 0, 0, sum(c * x for c, x in zip(v, column, strict=True))
            for i in sorted(range(len(v)), key=column.__getitem__):
                below, moment = below + v[i], moment + v[i] * column[i]
                f[i] -= 2 * (column[i] * below - moment) + total
        return f, 0, q
    power = 1 if "laplacian" in kernel else 2
    for i, j in combinations(range(len(rows)), 2):
        distance = sum(abs(a - b) ** power for a, b in zip(rows[i], rows[j], strict=True))
        if gamma:
            at = UP.divide(-gamma.numerator * distance, gamma.denominator * q**power)
            entry = round(UP.multiply(at.exp(UP), UNITS)) - UNITS
        else:
            entry = -isqrt(distance * UNITS**2)
        f[i], f[j] = f[i] + entry * v[j], f[j] + entry * v[i]
    return f, sum(map(abs, v)), UNITS if gamma else UNITS * q  # every entry is off by less than 1


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
    names = "loss, prices, penalty, weight, intercept, hypotheses, gamma, scales"
    loss, prices, penalty, weight, intercept, over, gamma, scales = fields(proof["formulation"], names, "formulation")
    require(loss in LOSSES and penalty in PENALTIES and over in HYPOTHESES, "formulation: unknown terms")
    require(isinstance(intercept, bool), "formulation: with or without an intercept")
    require(over not in KERNELS or (intercept and penalty == "squared l2"), "formulation: no penalty for a kernel")
    (unit, *prices), (weight, gamma, *scales) = map(whole, prices), map(rational, [weight, gamma, *scales])
    prices = [Fraction(c, unit) for c in prices] * (len(y) if len(prices) == 1 else 1)
    require(len(prices) == len(y) and min(prices) > 0 and weight > 0, "formulation: a price above 0 for every sample")
    require(gamma >= 0 and (gamma > 0) == (over in KERNELS[2:]), "formulation: gamma, of the kernels that have one")
    require(len(scales) in {0, len(X[0]) * (over == KERNELS[0])}, "formulation: scales, none or one of each feature")
    q, *numerators = map(whole, proof["multipliers"])
    require(q > 0 and len(numerators) == len(y), "multipliers: one for each sample")
    u, s = [Fraction(v, q) for v in numerators], [v * sign for v, sign in zip(numerators, y, strict=True)]
    require(not intercept or sum(s) == 0, "sum of y u is not 0, which the intercept asks for")
    largest, squares = (1, 0) if over in KERNELS else evaluate_edges(X, s, over)  # there the largest is not known
    if proof["model"] is None:
        require(loss == "hard" and min(u) >= 0 and sum(u) == 1 and largest <= 0, "no proof that there are no margins")
        return None, None
    require(penalty != "l1" or largest <= weight * q, "an edge above the weight of the penalty")
    d, b, terms = fields(proof["model"], "denominator, intercept, terms", "model")
    d, b, off = whole(d), whole(b), 0
    require(d > 0 and (intercept or b == 0), "an intercept that the formulation has not")
    if over in KERNELS:  # the model is the function of u y / weight, whose penalty is what the bound loses
        require(terms is None, "terms beside a kernel")
        scaled = [[Fraction(v) * c for v, c in zip(row, scales, strict=True)] for row in X] if scales else X
        f, off, unit = multiply_kernel(scaled, s, over, gamma)
        squares = Fraction(sum(v * e for v, e in zip(s, f, strict=True)) + off * sum(map(abs, s)), unit)
        f, off = [Fraction(e, unit * q) / weight for e in f], Fraction(off, unit * q) / weight
        paid = squares / (2 * weight * q**2)
    else:
        f, weights = evaluate_scores(X, terms, over)
        size, f = sum(map(abs, weights)), [Fraction(e) / d for e in f]
        require(over != "one-sided pool" or size == sum(weights), "a weight below 0")
        # of h and -h a half each adds nothing to f: with negations sizes below 1 are weights of sum 1, if there is an h
        summed = size == d or (weights and size < d and over != "one-sided pool")
        require(penalty != "simplex" or summed, "weights whose sizes do not add up to 1")
        norm = Fraction(sum(w * w for w in weights), 2 * d * d)
        paid = weight * {"l1": Fraction(size, d), "squared l2": norm, "simplex": 0}[penalty]
    lost = {"l1": 0, "squared l2": squares / (2 * weight * q**2), "simplex": Fraction(largest) / q}[penalty]
    z = [(e + Fraction(b, d)) * sign - off for e, sign in zip(f, y, strict=True)]
    return evaluate_loss(loss, prices, z) + paid, bound_loss(loss, prices, u) - lost


def describe(feature):
    """Say which column a feature is, and what texts in it count as."""
    column, codes, others = read_coding(feature)
    told = [f"{text!a} as {number}" for text, number in sorted(codes.items())]
    told[MOST_TOLD:] = [f"{len(told) - MOST_TOLD} more as the proof lists"] * (len(told) > MOST_TOLD)
    return f"{column!a} ({', '.join(told + [f'others as {others}'] * (others is not None))})"


def state_claim(proof, objective, bound):
    """Write the claim in one sentence, with twelve digits rounded to the safe side."""
    form, data, over = proof["formulation"], proof["data"], proof["formulation"]["hypotheses"]
    coded = ", ".join(describe(feature) for feature in data["features"] if isinstance(feature, dict))
    where = "below a line of names" if data["header"] else "from the first line on"
    where += "; target {!a}, {!a} as -1, {!a} as 1".format(data["target"], *data["labels"])
    where += f"; columns not used: {', '.join(map(ascii, data['unused'])) or 'none'}{'; coded: ' * bool(coded)}{coded}"
    on = f"on these {data['samples']} samples of {len(data['features'])} features ({where})"
    where = f" with gamma {form['gamma']}" if over in KERNELS[2:] else " of features scaled as the proof lists"
    over = f"Over all {over}{where * (over in KERNELS[2:] or bool(form['scales']))} ({HYPOTHESES[over]}) {on},"
    free = form["intercept"]
    if objective is None:
        return f"{over} no weighted vote has a margin above 0 on every sample{', whatever its intercept' * free}."
    unit, *prices = map(int, form["prices"])
    prices = " to ".join(str(Fraction(price, unit)) for price in sorted({min(prices), max(prices)}))
    terms = f"{form['loss']} loss{f' at {prices} a sample' * (form['loss'] != 'hard')} + {form['penalty']} penalty"
    terms += f" of weight {form['weight']}" * (form["penalty"] != "simplex")
    at_most = Context(prec=12, rounding=ROUND_CEILING).divide(objective.numerator, objective.denominator)
    at_least = Context(prec=12, rounding=ROUND_FLOOR).divide(bound.numerator, bound.denominator)
    exact = "exactly the least" if objective == bound else f"and the least is not below {at_least}"
    return f"{over} the model's {terms}, with{'out' * (not free)} an intercept, is at most {at_most}, {exact}."


def read_once(pairs):
    """Return an object of JSON; of a key that is there twice others would read the other value."""
    require(len(dict(pairs)) == len(pairs), "the proof has a key twice")
    return dict(pairs)


def check(proof, path):
    """Return the claim of a proof if it holds for the data at `path`; raise Refused with the first thing that fails."""
    names = "cvxens proof, claim, not established, data, formulation, model, multipliers, values, sha256"
    version, claim, not_established, data, *_, values, seal = fields(proof, names, "the proof")
    known = json.dumps([version, not_established]) == json.dumps([3, NOT_ESTABLISHED])
    require(known, "another version, or another list of what is not established")
    content = json.dumps({key: value for key, value in proof.items() if key != "sha256"}, sort_keys=True)
    require(digest([content]) == seal, "the proof is not as it was written: its hash differs")
    objective, bound = evaluate(proof, *read_data(path, data))
    stated = fields(values, "objective, bound", "values")
    require([v if v is None else rational(v) for v in stated] == [objective, bound], "the values are not those stated")
    require(objective is None or bound <= objective, "the bound is above the objective")
    require(claim == state_claim(proof, objective, bound), "the claim is another one than the numbers make")
    return claim


def main(arguments):
    """Check PROOF against DATA, print the outcome, and return the exit status."""
    try:
        with open(arguments[0], encoding="utf-8") as file:
            proof = json.load(file, object_pairs_hook=read_once)
        print(f"PASS: {check(proof, arguments[1])}")
    except Exception as error:  # whatever is wrong with one of the files, nothing is proven
        told = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
        print("FAIL:", f"{error.filename!r} cannot be read" if isinstance(error, OSError) else told)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
