"""Mutations of proofs, and the truth of what a mutated proof claims, by enumeration of all hypotheses."""

import copy
import csv
import json
import random
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.optimize import linprog, minimize_scalar

from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.problems import Problem, formulations
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic
from cvxens.problems.maps import doubly_centred, factor
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.proofs import Layout, checker, prove, prove_inseparable, prove_kernel
from cvxens.trees import Feature

FORMULATIONS = {
    "P4": formulations.soft_margin(C=0.3),
    "LPBoost": formulations.lpboost(D=0.2),
    "P4 with an intercept": Formulation(Hinge(0.5), L1(2.0), intercept=True),
    "P1": formulations.svm(C=0.1),
    "logistic": Formulation(Logistic(0.5), L1(0.5)),
    "exponential": Formulation(Exponential(0.5), SquaredL2(), intercept=True),
}

CODED = {
    "P4 of gaps and levels": formulations.soft_margin(C=0.3),
    "LPBoost of gaps and levels": formulations.lpboost(D=0.2),
    "P1 of gaps and levels": formulations.svm(C=0.1),
}

KERNELS = {
    "stump kernel": (formulations.svm(C=0.5), "stump", None),
    "stump kernel, prices for each": (formulations.svm(C=np.arange(2.0, 10.0) / 7), "stump", None),
    "perceptron kernel": (formulations.svm(C=0.5), "perceptron", None),
    "laplacian kernel": (formulations.svm(C=2.0), "laplacian", 0.1),
    "gaussian kernel": (formulations.svm(C=2.0), "gaussian", 0.3),
    "gaussian kernel, exponential": (Formulation(Exponential(0.25), SquaredL2(0.5), intercept=True), "gaussian", 0.3),
}

TOWNS = ("Bonn", "Rome", "Ulm")

INSEPARABLE = {
    "P3 without a vote": (formulations.hard_margin(), "stumps and constant"),
    "P3 with an intercept, over stumps": (Formulation(HardMargin(), L1(2.0), intercept=True), "stumps"),
    "P3 over a pool": (formulations.hard_margin(), "pool"),
    "P3 over a pool of one sign": (Formulation(HardMargin(), SquaredL2(), nonnegative=True), "one-sided pool"),
}


def small_sample(seed, n_samples=8, n_features=2):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 2, 1.0, -1.0)
    return rng.integers(0, 5, (n_samples, n_features)) + 0.5 * (y > 0)[:, None] * rng.integers(0, 3, (n_samples, 1)), y


def make_proof(formulation, seed, **kwargs):
    X, y = small_sample(seed)
    return column_generation(formulation, oracles.Stumps(X), y, tol=1e-9, exact=True, **kwargs).proof


def make_inseparable_proof(name, seed):
    formulation, over = INSEPARABLE[name]
    X, y = small_sample(seed)
    if "pool" in over:
        X = X - 2.5 + np.random.default_rng(seed).normal(size=X.shape)
    # twins of opposite classes, and four samples of which no stump tells the classes apart
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    X, y = np.vstack([X, corners, X[:1]]), np.concatenate([y, [1.0, -1.0, -1.0, 1.0], -y[:1]])
    return prove_inseparable(formulation, X, y, over=over)


def evaluate_kernel(name, X, gamma):
    """Evaluate a kernel by its formula."""
    differences = X[:, None] - X
    if "stump" in name or "laplacian" in name:
        distances = np.abs(differences).sum(axis=2)
        return -distances if "stump" in name else np.exp(-gamma * distances)
    squares = (differences**2).sum(axis=2)
    return -np.sqrt(squares) if "perceptron" in name else np.exp(-gamma * squares)


def make_kernel_proof(name, seed):
    """Prove the optimum that cvxpy finds over the functions of a kernel."""
    formulation, kernel, gamma = KERNELS[name]
    X, y = small_sample(seed)
    K = evaluate_kernel(kernel, X, gamma)
    problem = Problem(formulation, factor(doubly_centred(K)).F, y)
    u = problem.solve().duals["u"]
    f = K @ (y * u) / problem.penalty.weight
    b = float(minimize_scalar(lambda b: problem.loss.value(y * (f + b)), bounds=(-50, 50), method="bounded").x)
    return prove_kernel(formulation, X, y, kernel, u, b, gamma=gamma)


def make_coded_proof(name, seed, path):
    """Write a table with gaps, levels and a column that is not used, and prove the optimum over all of its stumps."""
    formulation = CODED[name]
    X, y = small_sample(seed, n_samples=10)
    rng = np.random.default_rng(seed)
    gaps, towns = rng.permutation(10) < 3, np.append(rng.permutation(3), rng.integers(0, 4, 7)) - 1.0
    X = np.column_stack([np.where(gaps, np.nan, X[:, 0]), X[:, 1], np.where(towns < 0, np.nan, towns)])
    ages = ["?" if gap else repr(x) for x, gap in zip(X[:, 0].tolist(), gaps, strict=True)]
    words = ["" if town < 0 else TOWNS[int(town)] for town in towns]
    rows = zip(range(10), ages, map(repr, X[:, 1].tolist()), words, np.where(y > 0, "yes", "no"), strict=True)
    Path(path).write_text("id,age,size,town,sick\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    kinds = [Feature("age"), Feature("size"), Feature("town", TOWNS)]
    oracle = oracles.Stumps(X, features=kinds)
    run = column_generation(formulation, oracle, y, tol=1e-9)
    over, table, readings = oracle.statement
    layout = Layout(["age", "size", "town"], "sick", ("no", "yes"), path=path)
    hypotheses = [column.hypothesis for column in run.columns]
    made = {"u": run.u, "over": over, "layout": layout, "readings": readings}
    return prove(formulation, table, y, hypotheses, run.weights, float(run.intercept), **made)


def make_any_proof(name, seed, path):
    """Make the proof of any name above, and its data."""
    if name in CODED:
        return make_coded_proof(name, seed, path)
    if name in INSEPARABLE:
        proof = make_inseparable_proof(name, seed)
    else:
        proof = make_kernel_proof(name, seed) if name in KERNELS else make_proof(FORMULATIONS[name], seed)
    proof.save(f"{path}.json", path)
    return proof


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
            number = Fraction(value) if len(value) < 4000 else Fraction(7)
            tiny = Fraction(1, 10 ** rng.choice([1, 6, 12, 30]))
            choices = [str(x) for x in (-number, number + tiny, number - tiny, 2 * number, number / 3, Fraction(0))]
            choices += [f"{number.numerator * 2}/{number.denominator * 2}", f"{value}0", f" {value}", 0.5]
            choices += [str(number + number // 10 ** rng.choice([1, 3, 6, 9, 12])) for _ in range(3)]
            choices += [str(number + 1), str(number - 1), "1e400", "NaN", "-inf", "9" * 5000, f"{'8' * 4200}/3"]
        except ValueError:
            at = rng.randrange(len(value) + 1)
            choices += [value + "x", value[:at] + "7" + value[at + 1 :], value.upper()]
            choices += ["hinge", "hard", "logistic", "exponential", "soft minimum", "l1", "squared l2", "simplex"]
            choices += checker.HYPOTHESES
            choices += ["1e400", "NaN", "inf", "0x1p-3", "9" * 5000, f"1/{'7' * 4200}"]
            choices += ["x0", "x1", "target", "age", "size", "town", "id", "sick", "0", "1", "2.5"]
            choices += [{"column": value, "codes": c, "others": o} for c in ({}, {"2.0": "3"}) for o in (None, "1")]
    elif isinstance(value, int):
        choices += [value + 1, value - 1, -value, str(value), float(value)]
    elif isinstance(value, list) and value:
        choices += [value[:-1], value[1:], value[::-1], value + value[:1]]
    elif isinstance(value, dict):
        choices += [dict(list(value.items())[:-1]), {**value, "more": 1}, {**value, "?": "3"}, {**value, "Ulm": "1"}]
    if rng.random() < 0.1:
        del place[key]
    else:
        place[key] = rng.choice(choices)
    return document


def seal_data(path, data):
    """Return the count, the hashes and the unused columns of data as a document reads them now."""
    given = [data[name] for name in ("kind", "separator", "header", "target", "features")]
    texts, X = checker.read_samples(path, *given)
    negative, positive = map(checker.parse, data["labels"])
    y = [{negative: -1, positive: 1}.get(checker.parse(text), 0) for text in texts]
    used = {data["target"], *(column_of(feature) for feature in data["features"])}
    return {
        "samples": len(X),
        "X sha256": checker.digest(",".join(map(float.hex, row)) for row in X),
        "y sha256": checker.digest(y),
        "unused": [name for name in checker.read_columns(path, *given[:3]) if name not in used],
    }


def seal(document, path, *, reread=False):
    """Make a forged proof consistent: values, claim and hash are recomputed; what is said of data, if it is reread."""
    try:
        data = document["data"]
        with suppress(Exception):
            data |= seal_data(path, data) if reread else {}
        X, y = checker.read_data(path, data)
        objective, bound = checker.evaluate(document, X, y)
        values = {"objective": objective, "bound": bound}
        document["values"] = {name: value if value is None else str(value) for name, value in values.items()}
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
    X = np.column_stack([read_feature([r[names.index(column_of(f))] for r in rows[1:]], f) for f in data["features"]])
    if not tells_all(document, names, X):
        return False
    positive = read_label(data["labels"][1])
    y = np.array([1 if read_label(row[names.index(data["target"])]) == positive else -1 for row in rows[1:]])
    prices = read_prices(form) * np.ones(len(y))
    weight = float(Fraction(form["weight"]))
    stated = document["values"]
    if "kernel" in form["hypotheses"]:
        objective, best = solve_kernel(document, X, y, prices, weight)
    else:
        H = list_columns(form, X)
        if model is None:
            return largest_margin(form, np.column_stack(H), y) <= 1e-9
        objective = evaluate_model(document, X, y, prices, weight)
        best = solve_by_enumeration(form, np.column_stack(H), y, prices, weight)
    stated, bound = (float(Fraction(stated[name])) for name in ("objective", "bound"))
    size = 1e-6 * max(1.0, abs(best))
    return objective <= stated + size and bound <= best + size and best <= stated + size


def read_label(text):
    """Read a label, a number or a word."""
    try:
        return float(text)
    except ValueError:
        return text


def column_of(feature):
    """Return the column of a feature of a document."""
    return feature["column"] if isinstance(feature, dict) else feature


def read_feature(cells, feature):
    """Read the cells of a column as a document says."""
    if not isinstance(feature, dict):
        return list(map(float, cells))
    codes, others = feature["codes"], feature["others"]
    return [float(codes[cell]) if cell in codes else float(cell if others is None else others) for cell in cells]


def tells_all(document, names, X):
    """Return True if a claim names what a stranger has to know, and no feature is there twice or is the target."""
    data, form, claim = document["data"], document["formulation"], document["claim"]
    used = [column_of(feature) for feature in data["features"]]
    unused = [name for name in names if name not in (data["target"], *used)]
    told = [f"these {len(X)} samples of {len(used)} features (below a line of names; target {data['target']!r}, "]
    told += [f"columns not used: {', '.join(map(repr, unused)) or 'none'}", *(f"{n!r} as " for n in data["labels"])]
    told += [f"{text!r} as {n}" for f in data["features"] if isinstance(f, dict) for text, n in f["codes"].items()]
    if document["model"] is not None:
        told += [f"of weight {form['weight']}, "] if form["penalty"] != "simplex" else []
        unit, *prices = map(int, form["prices"])
        told += [f"{Fraction(max(prices), unit)} a sample"] if form["loss"] != "hard" else []
        told += ["with an intercept" if form["intercept"] else "without an intercept"]
    distinct = {(name, tuple(column)) for name, column in zip(used, X.T.tolist(), strict=True)}
    return len(distinct) == len(used) and data["target"] not in used and all(words in claim for words in told)


def list_columns(form, X):
    """List the values of all hypotheses."""
    if "pool" in form["hypotheses"]:
        return list(X.T)
    H = [np.where(x >= v, 1.0, -1.0) for x in X.T for v in np.unique(x)[1:]]
    return H + [np.ones(len(X))] * (form["hypotheses"] == "stumps and constant")


def read_prices(form):
    """Read the prices of a formulation."""
    unit, *prices = map(int, form["prices"])
    return np.array([float(Fraction(c, unit)) for c in prices])


def evaluate_loss(form, z, prices):
    """Evaluate the loss at margins."""
    return {
        "hinge": (prices * np.maximum(1 - z, 0)).sum,
        "hard": lambda: 0.0 if z.min() >= 1 - 1e-12 else np.inf,
        "soft minimum": lambda: min(-r + (prices * np.maximum(r - z, 0)).sum() for r in z),
        "exponential": (prices * np.exp(-z)).sum,
        "logistic": (prices * np.logaddexp(0, -z)).sum,
    }[form["loss"]]()


def evaluate_model(document, X, y, prices, weight):
    """Evaluate the objective of the model in a document, in floats."""
    form, model = document["formulation"], document["model"]
    unit = int(model["denominator"])
    f, merged = np.full(len(y), float(Fraction(int(model["intercept"]), unit))), {}
    for term in model["terms"]:
        j, t, w = term["feature"], term["threshold"], float(Fraction(int(term["weight"]), unit))
        h = np.ones(len(y)) if j is None else X[:, j] if t is None else np.where(X[:, j] >= float(t), 1.0, -1.0)
        f += w * h
        merged[j, h.tobytes()] = merged.get((j, h.tobytes()), 0.0) + w
    w = np.array(list(merged.values()))
    size = {"l1": weight * np.abs(w).sum(), "squared l2": weight / 2 * (w @ w), "simplex": 0.0}[form["penalty"]]
    return evaluate_loss(form, y * f, prices) + size


def solve_kernel(document, X, y, prices, weight):
    """Evaluate the function that the multipliers make, and solve the formulation over all functions of the kernel."""
    form, model = document["formulation"], document["model"]
    q, *numerators = map(int, document["multipliers"])
    c = y * np.array([float(Fraction(v, q)) for v in numerators]) / weight
    # a float has no larger one, and from far below it the kernel is that of the identity
    gamma = float(min(Fraction(form["gamma"]), 10**300))
    own = evaluate_kernel(form["hypotheses"], X, gamma)
    K = doubly_centred(own)
    # the scores of the centred kernel are others by a constant
    own = own - own[0, 0]
    b = float(Fraction(int(model["intercept"]), int(model["denominator"])))
    objective = evaluate_loss(form, y * (own @ c + b), prices) + weight / 2 * (c @ own @ c)
    return objective, solve_by_enumeration(form, factor(K).F, y, prices, weight)


def largest_margin(form, H, y):
    """Return the largest minimum margin of weights of at most 1 in size, over all columns of H."""
    G = y[:, np.newaxis] * np.hstack([H, np.ones((len(y), 1))])
    n_columns = H.shape[1]
    w, b = (0 if form["hypotheses"] == "one-sided pool" else -1, 1), (-1e3, 1e3) if form["intercept"] else (0, 0)
    # max rho with G (w, b) >= rho
    program = linprog(
        [*np.zeros(n_columns + 1), -1.0],
        A_ub=np.hstack([-G, np.ones((len(y), 1))]),
        b_ub=np.zeros(len(y)),
        bounds=[w] * n_columns + [b, (None, None)],
    )
    return -program.fun


def solve_by_enumeration(form, H, y, prices, weight):
    """Solve the formulation over all columns of H with cvxpy."""
    import cvxpy as cp

    one_sided = form["hypotheses"] == "one-sided pool"
    w, b = cp.Variable(H.shape[1], nonneg=one_sided), cp.Variable()
    z = cp.multiply(y, H @ w + (b if form["intercept"] else 0))
    constraints = []
    if form["loss"] == "soft minimum":
        rho = cp.Variable()
        loss = -rho + prices @ cp.pos(rho - z)
    elif form["loss"] == "hard":
        loss, constraints = 0, [z >= 1]
    else:
        phi = {"hinge": cp.pos(1 - z), "exponential": cp.exp(-z), "logistic": cp.logistic(-z)}[form["loss"]]
        loss = prices @ phi
    penalty = {"l1": weight * cp.norm1(w), "squared l2": weight / 2 * cp.sum_squares(w), "simplex": 0}[form["penalty"]]
    # with negations, what is left of 1 is of h and -h alike
    summed = cp.sum(w) == 1 if one_sided else cp.norm1(w) <= 1
    constraints += [summed] if form["penalty"] == "simplex" else []
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
            forged = seal(forged, path, reread=True)
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
        if not isinstance(document, dict | list):
            return False
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def main(n_mutations):
    """Attack a proof of every formulation; print what was accepted, and return the number of lies."""
    n_lies, names = 0, [*FORMULATIONS, *CODED, *KERNELS, *INSEPARABLE]
    with TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        for seed, name in enumerate(names):
            proof = make_any_proof(name, seed, path)
            accepted, lies = attack(proof, path, -(-n_mutations // len(names)), seed)
            n_lies += len(lies)
            print(f"{name}: {accepted} accepted, {len(lies)} of them false")  # noqa: T201
            for lie in lies[:3]:
                print(json.dumps(lie))  # noqa: T201
    return n_lies


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1])), 1))
