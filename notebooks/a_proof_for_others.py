# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A proof for others
#
# Models of other libraries, and an exact statement of how far each is from the optimum: two boosted votes from that of
# soft-margin boosting over all decision stumps, and a support vector machine from its own. Exact means rational
# numbers, and a statement for somebody who trusts neither this library nor the other ones: a file, and a checker of
# some 350 lines on Python's standard library alone.

# %%
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cvxens.colgen import formulations
from cvxens.estimators import certify_model
from cvxens.proofs import checker

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:300, :10], y[:300]
models = {"AdaBoost": AdaBoostClassifier(n_estimators=50, random_state=0)}
try:
    import lightgbm

    models["LightGBM"] = lightgbm.LGBMClassifier(num_leaves=2, n_estimators=50, verbosity=-1)
except ImportError:
    models["gradient boosting"] = GradientBoostingClassifier(max_depth=1, n_estimators=50, random_state=0)

# %% [markdown]
# `certify_model` reads the stumps of a model, takes their vote at its best scale, and bounds the optimum in floats. Its
# `exact()` goes on: the optimum is solved over the rationals, and its multipliers are the proof of the bound.

# %%
proofs = {name: certify_model(m.fit(X, y), X, y, formulations.soft_margin(0.2)).exact() for name, m in models.items()}
for name, proof in proofs.items():
    print(f"{name}: {proof.claim}\n    relative gap {proof.relative_gap:.4f}")

# %% [markdown]
# Both bounds are the same number, as they are the optimum. It is a fraction:

# %%
bounds = {proof.bound for proof in proofs.values()}
optimum = bounds.pop()
assert not bounds
print(f"{optimum}, about {float(optimum):.6f}")

# %% [markdown]
# ## The checker, in a process of its own
#
# `-I` isolates Python from the environment; the checker imports nothing but the standard library. It reads the proof
# and the data, and recomputes everything in integers.


# %%
def check(proof, document=None):
    """Write a proof and its data, or another document in its place, and return what the checker prints."""
    with TemporaryDirectory() as folder:
        files = Path(folder, "proof.json"), Path(folder, "data.csv")
        proof.save(*files)
        if document is not None:
            files[0].write_text(json.dumps(document))
        command = [sys.executable, "-I", checker.__file__, *map(str, files)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


for name, proof in proofs.items():
    print(f"{name}: {check(proof)}")

# %% [markdown]
# ## A support vector machine
#
# An `SVC` is held against the optimum of its own problem, over all functions in the space of its kernel. Exponentials
# are no rational numbers: the checker bounds every entry of the kernel matrix to forty digits, and takes the worst.

# %%
Z = StandardScaler().fit_transform(X)
machine = SVC(C=1.0, tol=1e-4).fit(Z, y)
of_machine = certify_model(machine, Z, y).exact()
print(of_machine.claim, f"\n    relative gap {of_machine.relative_gap:.0e}")
assert 0 <= of_machine.relative_gap < 1e-3
assert check(of_machine) == f"PASS: {of_machine.claim}"

# %% [markdown]
# ## Forgeries
#
# Somebody would like AdaBoost to look better. The hash over the file is no obstacle, as anybody can compute it anew;
# what the numbers must do is.


# %%
def forge(change):
    """Return a copy of AdaBoost's proof that was changed, with a hash that fits."""
    document = json.loads(json.dumps(proofs["AdaBoost"].document))
    change(document)
    content = {key: value for key, value in document.items() if key != "sha256"}
    return document | {"sha256": checker.digest([json.dumps(content, sort_keys=True)])}


def claim_optimality(document):
    document["claim"] = proofs["AdaBoost"].claim.partition(", and")[0] + ", exactly the least."


def raise_the_bound(document):
    document["values"]["bound"] = document["values"]["objective"]


def double_the_multipliers(document):
    denominator, *numerators = document["multipliers"]
    document["multipliers"] = [denominator, *(str(2 * int(u)) for u in numerators)]


def drop_a_term(document):
    document["model"]["terms"].pop()


def use_other_prices(document):
    document["formulation"]["prices"] = ["10", "1"]


for change in (claim_optimality, raise_the_bound, double_the_multipliers, drop_a_term, use_other_prices):
    answer = check(proofs["AdaBoost"], forge(change))
    print(f"{change.__name__.replace('_', ' '):24}{answer}")
    assert answer.startswith("FAIL")

# %% [markdown]
# ## How far they are

# %%
figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
for row, proof in enumerate(proofs.values()):
    ax.barh(row, float(proof.bound), color="0.8", label="optimum, proven" if row == 0 else None)
    ax.barh(row, float(proof.gap), left=float(proof.bound), color="C3", label="above it" if row == 0 else None)
    ax.annotate(
        f"{100 * float(proof.gap / proof.bound):.1f}% above",
        (float(proof.objective), row),
        (4, -3),
        "data",
        "offset points",
    )
ax.set_yticks(range(len(proofs)), proofs)
ax.set(xlabel="objective of soft-margin boosting", xlim=(0, 1.4 * max(float(p.objective) for p in proofs.values())))
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %% [markdown]
# Neither library promises this optimum, and both minimise other things: this is no fault of theirs, but a distance that
# anybody can check. What the file does not establish it says itself:

# %%
for sentence in proofs["AdaBoost"].document["not established"]:
    print(f"- {sentence}")
