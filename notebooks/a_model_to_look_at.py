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
# # A model to look at
#
# An ensemble of trees of depth 2 is a sum of functions of one feature and of two. Taken apart exactly, it can be drawn,
# weighed and defended, sample by sample, and it is proven optimal over all such trees.

# %%
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from cvxens import LPBoostClassifier
from cvxens.plotting import EffectsDisplay, ExplanationDisplay, PairDisplay, ShapeDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X.filter(like="worst"), y.map({0: "malignant", 1: "benign"})
model = LPBoostClassifier(C=0.05, oracle="depth_two_trees").fit(X, y)
assert model.certificate_.holds(model.tol)
effects = model.effects(X)
drawn = EffectsDisplay.from_effects(effects, n_shown=12)

# %% [markdown]
# A tree of depth 2 says something of its features together, and something of each alone. Where is the border? Every
# pair $g_{jk}$ is made *pure*: its mean over the samples is 0 in every row and in every column, and what is taken out
# of it for that goes to the functions $g_j$ of single features (Lengerich et al. 2020). The sum is what it was,
#
# $$f(x) = b + \sum_j g_j(x_j) + \sum_{j<k} g_{jk}(x_j, x_k),$$
#
# to rounding:

# %%
assert np.allclose(effects.intercept + effects.contributions(X).sum(axis=1), model.decision_function(X))
drawn = ShapeDisplay.from_effects(effects, X, n_shown=8)

# %% [markdown]
# Scores above 0 are for "malignant". The most important pair, as a map:

# %%
drawn = PairDisplay.from_effects(effects, X=X)

# %% [markdown]
# ## Why this sample?
#
# The score of one sample goes from the mean score to its own by what every effect adds. Shapley values share the pairs
# among their features: where features that are not known are drawn from the samples, they have a closed form here, of
# four means for each pair, and nothing is sampled.

# %%
drawn = ExplanationDisplay.from_effects(effects, X.iloc[[0]], n_shown=8)

# %%
phi = effects.shapley_values(X)
assert np.allclose(effects.intercept + phi.sum(axis=1), model.decision_function(X))
drawn = ExplanationDisplay.from_effects(effects, X.iloc[[0]], shapley=True, n_shown=8)

# %% [markdown]
# ## How much of a shape do the data decide?
#
# Other ensembles are almost as good. What can a function be in *any* ensemble of stumps whose objective is at most 1 %
# above the best? Each end of a bar is a convex program over all stumps, solved by column generation, and certified. No
# such ensemble does without the features whose importance is above 0 at least.

# %%
simple = LPBoostClassifier(C=0.02).fit(X, y)
bands = simple.bands(X, y, within=0.01, points=5)
assert bands.complete
print("no good ensemble does without:", [bands.feature_names[feature] for feature in bands.needed])
drawn = ShapeDisplay.from_effects(simple.effects(X), X, bands=bands)

# %% [markdown]
# ## A page for others
#
# All of that, the rules, the certificate in words and how the fit went are in one HTML file, which loads nothing and
# can be sent to whoever has to approve the model. Here it goes to a folder that is removed.

# %%
with tempfile.TemporaryDirectory() as folder:
    model.report(Path(folder) / "model.html", X, y)
    page = (Path(folder) / "model.html").read_text()
print("a page of less than 300 KB:", len(page) < 300_000)
