"""Pictures of effects: importances, pairs, explanations of one sample, and shapes of trees."""

import numpy as np
import pandas as pd
import pytest
from rendering import assert_drawn, assert_opens_one_figure, legend_of

from cvxens.errors import InvalidInput
from cvxens.estimators import AdaBoostMHClassifier, CGEnsClassifier, LPBoostClassifier
from cvxens.plotting import EffectsDisplay, ExplanationDisplay, PairDisplay, ShapeDisplay


@pytest.fixture(scope="module")
def model(sample):
    X, y = sample
    return LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(X, y)


@pytest.fixture(scope="module")
def effects(model, sample):
    return model.effects(sample[0])


def test_importances_come_in_their_order(effects, model, sample, ax):
    display = EffectsDisplay.from_estimator(model, sample[0], n_shown=2, ax=ax)
    assert_drawn(display, ax)
    frame = effects.to_frame()
    assert [label.get_text() for label in ax.get_yticklabels()] == frame["effect"].tolist()[:2]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(frame["importance"].tolist()[:2])
    assert ax.get_title(loc="right") == f"{(frame['importance'] > 0).sum() - 2} less important are left out"


def test_a_pair_is_drawn_as_it_is(effects, model, sample, ax):
    X, _ = sample
    display = PairDisplay.from_estimator(model, X, ax=ax)
    assert_drawn(display, ax)
    name = f"{ax.get_xlabel()} x {ax.get_ylabel()}"
    pair = effects.terms[effects.names.index(name)]
    middles = [(ends[:-1] + ends[1:]) / 2 for ends in display.edges]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*middles, indexing="ij")], axis=1)
    assert display.table.ravel() == pytest.approx(pair.at(points)[:, 0])
    assert [ends[[0, -1]].tolist() for ends in display.edges] == [
        [X[:, feature].min(), X[:, feature].max()] for feature in pair.features
    ]
    # without a sample it reaches over its cuts
    again = PairDisplay.from_effects(effects, name)
    assert_opens_one_figure(again)
    assert again.table.shape == tuple(len(cuts) + 1 for cuts in pair.cuts)


@pytest.mark.parametrize("shapley", [False, True])
def test_an_explanation_goes_from_the_mean_score_to_that_of_the_sample(model, sample, shapley, ax):
    X, _ = sample
    display = ExplanationDisplay.from_estimator(model, X, X[3:4], shapley=shapley, n_shown=2, ax=ax)
    assert_drawn(display, ax)
    assert display.base == pytest.approx(model.decision_function(X).mean())
    assert display.base + display.contributions.sum() == pytest.approx(model.decision_function(X[3:4])[0])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert (labels[0], labels[-1], len(labels)) == ("mean score", "score", 5)
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert ends[-1] == pytest.approx(model.decision_function(X[3:4])[0])
    assert [bar.get_x() for bar in ax.patches[1:]] == pytest.approx(ends[:-1])
    if shapley:
        assert any(label.startswith("x[0] = ") for label in labels)


def test_shapes_of_trees_are_their_main_effects(effects, sample):
    X, _ = sample
    display = ShapeDisplay.from_effects(effects, X)
    assert_opens_one_figure(display)
    assert display.shapes[0].name == effects.to_frame().query("order == 1")["effect"].iloc[0]
    for shape in display.shapes:
        main = effects.terms[effects.names.index(shape.name)]
        assert shape.values == pytest.approx(main.outline(*shape.knots[[0, -1]])[1][:, 0])


def test_of_several_scores_one_is_named(sample, ax):
    X, _ = sample
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    effects = AdaBoostMHClassifier(n_rounds=6).fit(X, y).effects(X)
    whole = EffectsDisplay.from_effects(effects, ax=ax)
    top = EffectsDisplay.from_effects(effects, output="top", ax=ax.figure.add_subplot())
    assert top.importances == pytest.approx(effects.sizes[:, 2])
    assert whole.importances == pytest.approx(effects.sizes.mean(axis=1))
    explained = ExplanationDisplay.from_effects(effects, X[:1], output="low", ax=ax.figure.add_subplot())
    assert explained.base == pytest.approx(effects.intercept[0])
    with pytest.raises(InvalidInput, match="output: found None; name one of low, middle, top"):
        ExplanationDisplay.from_effects(effects, X[:1])
    display = ShapeDisplay.from_effects(effects, ax=[ax.figure.add_subplot() for _ in effects.mains])
    assert legend_of(display.axes_[0]) == ["low", "middle", "top"]


def test_levels_and_gaps_are_told_by_name(ax):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.integers(0, 9, 60).astype(float), "sky": random.choice(["blue", "grey"], 60)})
    y = (frame["age"] > 4) ^ (frame["sky"] == "grey") & (frame["age"] > 2)
    frame.loc[:9, "age"], frame.loc[5:7, "sky"] = np.nan, None
    model = CGEnsClassifier(C=0.1).fit(frame, y)
    effects = model.effects(frame)
    axes = [ax, ax.figure.add_subplot()]
    age, sky = sorted(ShapeDisplay.from_estimator(model, frame, ax=axes).axes_, key=lambda one: one.get_xlabel())
    missing = [effects.mains[k].at([np.nan])[0, 0] for k in range(2)]
    assert [label.get_text() for label in sky.get_xticklabels()] == [
        *(f"{name}\nn = {(frame['sky'] == name).sum()}" for name in ("blue", "grey")),
        "missing\nn = 3",
    ]
    assert [bar.get_height() for bar in sky.patches] == pytest.approx([*effects.mains[1].at([0, 1])[:, 0], missing[1]])
    assert [text.get_text() for text in age.texts] == ["missing (n = 10)"]
    assert age.lines[-2].get_ydata() == pytest.approx([missing[0]] * 2)
    drawn = ExplanationDisplay.from_effects(effects, frame.iloc[[5]], shapley=True, ax=ax.figure.add_subplot())
    labels = [label.get_text() for label in drawn.ax_.get_yticklabels()]
    assert {"age = missing", "sky = missing"} & set(labels)
    assert effects.tell_value(1, 1.0) == "grey"
