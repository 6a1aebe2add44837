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
# # A real table, with gaps and categories
#
# The 1,309 passengers of the Titanic: numbers, words, and ages and decks that nobody wrote down. From the file to a
# model that is compared, constrained, looked at and handed on, without filling a gap or coding a word.
#
# Scikit-learn carries the table among the files of its own tests, so nothing is downloaded here;
# `fetch_openml("titanic", version=1)` is the same.

# %%
import gzip
import tempfile
from importlib.resources import files
from itertools import takewhile
from pathlib import Path

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from cvxens import AdditiveClassifier, LPBoostClassifier, Monotone, load_model
from cvxens.plotting import EffectsDisplay, ExplanationDisplay, ShapeDisplay

source = files("sklearn.datasets.tests.data.openml.id_40945") / "data-v1-dl-16826755.arff.gz"
with gzip.open(source, "rt") as lines:
    header = list(takewhile(lambda line: not line.startswith("@data"), lines))
    names = [line.split("'")[1] for line in header if line.startswith("@attribute")]
    table = pd.read_csv(lines, names=names, na_values="?")
print(len(table), "passengers,", len(names), "columns")

# %% [markdown]
# What was known only afterwards (`boat`, `body`) would be cheating, names and tickets are of one person each, and of
# the cabin the letter of the deck is kept. What is text is taken for a category: types decide, and nothing has to be
# declared.

# %%
known_before = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked", "cabin"]


def name_deck(X):
    """Return the table with the deck, the first letter of a cabin, in place of the cabin."""
    return X.drop(columns="cabin").assign(deck=X["cabin"].str[0])


X, y = name_deck(table[known_before]), table["survived"].map({0: "died", 1: "survived"})
pd.DataFrame({"type": X.dtypes.astype(str), "missing": X.isna().sum(), "values": X.nunique()})

# %% [markdown]
# ## A model that fits itself
#
# `AdditiveClassifier` is a sparse logistic regression on all steps, lines and ramps of all features. By default it
# tries pairs of these too, which takes three times as long and adds nothing here. Its price is chosen by
# cross-validation. The certificate is over all weak learners, also those that never got a weight.

# %%
train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
model = AdditiveClassifier(pairs=False).fit(train, y_train)
assert model.certificate_.holds(model.tol)
print(f"right on the test part: {model.score(test, y_test):.3f}")

# %% [markdown]
# ## Beside others
#
# The same three folds for all. Trees of scikit-learn take gaps and categories too; the linear model has to be told what
# to do about each. Log loss says how good the probabilities are.

# %%
numbers, words = ["pclass", "age", "sibsp", "parch", "fare"], ["sex", "embarked", "deck"]
linear = make_pipeline(
    make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), words),
    ),
    LogisticRegression(),
)
categories = FunctionTransformer(lambda X: X.astype(dict.fromkeys(words, "category")))
peers = {
    "AdditiveClassifier": AdditiveClassifier(pairs=False),
    "logistic regression": linear,
    "HistGradientBoosting": make_pipeline(
        categories, HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    ),
}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
rows = {}
for name, peer in peers.items():
    measured = cross_validate(peer, X, y, cv=folds, scoring=["accuracy", "roc_auc", "neg_log_loss"])
    rows[name] = {
        "right": measured["test_accuracy"].mean(),
        "area": measured["test_roc_auc"].mean(),
        "log loss": -measured["test_neg_log_loss"].mean(),
    }
pd.DataFrame(rows).T.round(3)

# %% [markdown]
# ## Fewer terms, and a search in a pipeline
#
# Boosting with a soft margin uses fewer stumps still. Its `nu`, the share of samples that may miss the margin, is
# searched for as any parameter of scikit-learn is; what makes the deck of a cabin is a step of the same pipeline.

# %%
pipeline = make_pipeline(FunctionTransformer(name_deck), LPBoostClassifier(tol=1e-2))
search = GridSearchCV(pipeline, {"lpboostclassifier__nu": [0.4, 0.45, 0.5]}, cv=folds)
search.fit(table.loc[train.index, known_before], y_train)
found = search.best_estimator_[-1]
right = search.score(table.loc[test.index, known_before], y_test)
print(f"{search.best_params_}: {found.weights_.astype(bool).sum()} stumps, right on the test part: {right:.3f}")

# %% [markdown]
# ## What it says
#
# What every feature adds to the log odds, exactly: where a value is missing, and for each level, too.

# %%
effects = model.effects(train)
drawn = EffectsDisplay.from_effects(effects)

# %%
drawn = ShapeDisplay.from_effects(effects, train, n_shown=6)

# %% [markdown]
# One passenger of the test part:

# %%
drawn = ExplanationDisplay.from_effects(effects, test.iloc[[0]])

# %% [markdown]
# ## What it must not say
#
# A higher fare of the same class should not lower the chance: `Monotone` keeps that everywhere, and
# `price_of_constraints_` bounds by two certificates what it costs of the objective.

# %%
kept = AdditiveClassifier(C=model.C_, pairs=False, constraints=[Monotone({"fare": 1})]).fit(train, y_train)
assert kept.certificate_.holds(kept.tol)
low, high = kept.price_of_constraints_
print(f"the objective rises by {low:.2f} to {high:.2f}, to {kept.certificate_.primal:.1f}")
print(f"right on the test part: {kept.score(test, y_test):.3f}")

# %% [markdown]
# ## Handed on
#
# A file without code in it, and a page for those who have to approve the model. In a terminal the same is
# `cvxens fit titanic.csv --target survived --model AdditiveClassifier --out titanic.cvxens`, and then
# `cvxens report titanic.cvxens titanic.csv --out titanic.html`.

# %%
with tempfile.TemporaryDirectory() as folder:
    kept.save(Path(folder) / "titanic.cvxens")
    again = load_model(Path(folder) / "titanic.cvxens")
    assert (again.predict_proba(test) == kept.predict_proba(test)).all()
    again.report(Path(folder) / "titanic.html", test, y_test)
    print("a page of less than 300 KB:", (Path(folder) / "titanic.html").stat().st_size < 300_000)
