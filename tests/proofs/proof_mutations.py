"""Mutations of proofs, and the truth of what a mutated proof claims, by enumeration of all hypotheses."""

import copy
import csv
import json
import random
from fractions import Fraction

import numpy as np

from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.problems import formulations
from cvxens.problems.losses import Exponential, Hinge, Logistic
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.proofs import checker

FORMULATIONS = {
    "P4": formulations.soft_margin(C=0.3),
    "LPBoost": formulations.lpboost(D=0.2),
    "P4 with an intercept": Formulation(Hinge(0.5), L1(2.0), intercept=True),
    "P1": formulations.svm(C=0.1),
    "logistic": Formulation(Logistic(0.5), L1(0.5)),
    "exponential": Formulation(Exponential(0.5), SquaredL2(), intercept=True),
}


def small_sample(seed, n_samples=8, n_features=2):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 2, 1.0, -1.0)
    return rng.integers(0, 5, (n_samples, n_features)) + 0.5 * (y > 0)[:, None] * rng.integers(0, 3, (n_samples, 1)), y


def make_proof(formulation, seed, **kwargs):
    X, y = small_sample(seed)
    return column_generation(formulation, oracles.Stumps(X), y, tol=1e-9, exact=True, **kwargs).proof


def leaves(value, path=()):
    """Yield the path of every value in a document, also of those that hold others."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from leaves(part, (*path, key))


def mutate(document, path, rng):
    """Return a copy in which the value at a path is another one."""
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    key, value = path[-1], place[path[-1]]
    choices = [None, "", 0, -1, [], {}, "1/3", True, 10**30, "nan"]
    if isinstance(value, bool):
        choices.append(not value)
    elif isinstance(value, str):
        try:
            number = Fraction(value)
            tiny = Fraction(1, 10 ** rng.choice([1, 6, 12, 30]))
            choices = [str(x) for x in (-number, number + tiny, number - tiny, 2 * number, number / 3, Fraction(0))]
            choices += [f"{number.numerator * 2}/{number.denominator * 2}", f"{value}0", f" {value}", float(number)]
        except ValueError:
            at = rng.randrange(len(value) + 1)
            choices += [value + "x", value[:at] + "7" + value[at + 1 :], value.upper()]
            choices += ["hinge", "hard", "logistic", "exponential", "soft minimum", "l1", "squared l2", "simplex"]
            choices += ["stumps", "stumps and constant", "pool", "one-sided pool"]
    elif isinstance(value, int):
        choices += [value + 1, value - 1, -value, str(value), float(value)]
    elif isinstance(value, list) and value:
        choices += [value[:-1], value[1:], value[::-1], value + value[:1]]
    elif isinstance(value, dict):
        choices += [dict(list(value.items())[:-1]), {**value, "more": 1}]
    if rng.random() < 0.1:
        del place[key]
    else:
        place[key] = rng.choice(choices)
    return document


def seal(document, path):
    """Make a forged proof consistent: its values, its claim and its hashes are recomputed."""
    try:
        X, y = checker.read_data(path, document["data"])
        objective, bound = checker.evaluate(document, X, y)
        document["values"] = {"objective": str(objective), "bound": str(bound)}
        document["claim"] = checker.state_claim(document, objective, bound)
    except Exception:  # a forger who cannot even state values seals what there is
        pass
    content = {key: value for key, value in document.items() if key != "sha256"}
    document["sha256"] = checker.digest([json.dumps(content, sort_keys=True)])
    return document


def is_true(document, path):
    """Return True if what an accepted proof states holds, by enumeration of H and plain sums."""
    data, form, model = document["data"], document["formulation"], document["model"]
    with open(path, newline="") as file:
        rows = list(csv.reader(file, delimiter=data["separator"]))
    names = rows[0]
    X = np.array([[float(row[names.index(c)]) for c in data["features"]] for row in rows[1:]])
    y = np.array([1 if float(row[names.index(data["target"])]) == float(data["labels"][1]) else -1 for row in rows[1:]])
    columns = [X[:, j] for j in range(X.shape[1])]
    H = []
    if "pool" in form["hypotheses"]:
        H = columns
    else:
        for x in columns:
            values = np.unique(x)
            H += [np.where(x >= v, 1.0, -1.0) for v in values[1:]]
        H += [np.ones(len(X))] * (form["hypotheses"] == "stumps and constant")
    prices = np.array([float(Fraction(c)) for c in form["prices"]]) * np.ones(len(y))
    f = np.full(len(y), float(Fraction(model["intercept"])))
    merged = {}
    for term in model["terms"]:
        j, t, w = term["feature"], term["threshold"], float(Fraction(term["weight"]))
        h = np.ones(len(y)) if j is None else X[:, j] if t is None else np.where(X[:, j] >= float(t), 1.0, -1.0)
        f += w * h
        merged[j, h.tobytes()] = merged.get((j, h.tobytes()), 0.0) + w
    z, w = y * f, np.array(list(merged.values()))
    weight = float(Fraction(form["weight"]))
    objective = {
        "hinge": (prices * np.maximum(1 - z, 0)).sum(),
        "hard": 0.0 if z.min() >= 1 - 1e-12 else np.inf,
        "soft minimum": min(-r + (prices * np.maximum(r - z, 0)).sum() for r in z),
        "exponential": (prices * np.exp(-z)).sum(),
        "logistic": (prices * np.logaddexp(0, -z)).sum(),
    }[form["loss"]]
    objective += {"l1": weight * np.abs(w).sum(), "squared l2": weight / 2 * (w @ w), "simplex": 0.0}[form["penalty"]]
    best = solve_by_enumeration(form, np.column_stack(H), y, prices, weight)
    stated, bound = (float(Fraction(document["values"][name])) for name in ("objective", "bound"))
    size = 1e-6 * max(1.0, abs(best))
    return objective <= stated + size and bound <= best + size and best <= stated + size


def solve_by_enumeration(form, H, y, prices, weight):
    """Solve the formulation over all columns of H with cvxpy."""
    import cvxpy as cp

    one_sided = form["hypotheses"] == "one-sided pool"
    w, b = cp.Variable(H.shape[1], nonneg=one_sided), cp.Variable()
    z = cp.multiply(y, H @ w + (b if form["intercept"] else 0))
    constraints = []
    if form["loss"] == "soft minimum":
        rho = cp.Variable()
        loss, constraints = -rho + prices @ cp.pos(rho - z), [cp.norm1(w) <= 1]
    elif form["loss"] == "hard":
        loss, constraints = 0, [z >= 1]
    else:
        phi = {"hinge": cp.pos(1 - z), "exponential": cp.exp(-z), "logistic": cp.logistic(-z)}[form["loss"]]
        loss = prices @ phi
    penalty = {"l1": weight * cp.norm1(w), "squared l2": weight / 2 * cp.sum_squares(w), "simplex": 0}[form["penalty"]]
    return cp.Problem(cp.Minimize(loss + penalty), constraints).solve(solver="CLARABEL")


def attack(proof, path, n_mutations, seed):
    """Mutate a proof; return how many were accepted, and those accepted that are false."""
    rng = random.Random(seed)
    places = list(leaves(proof.document))
    accepted, lies = 0, []
    for number in range(n_mutations):
        forged = proof.document
        for _ in range(rng.choice([1, 1, 1, 2])):
            forged = mutate(forged, rng.choice([p for p in places if exists(forged, p)]), rng)
        if number % 2:
            forged = seal(forged, path)
        if json.dumps(forged) == json.dumps(proof.document):
            continue
        try:
            checker.check(forged, path)
        except Exception:  # as `main` takes it
            continue
        accepted += 1
        if not is_true(forged, path):
            lies.append(forged)
    return accepted, lies


def exists(document, path):
    """Return True if there is a value at a path."""
    for key in path:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True
