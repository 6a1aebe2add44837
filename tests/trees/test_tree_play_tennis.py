"""The weather of fourteen days (Quinlan 1993, table 2-1), with nominal and with numeric humidity."""

import numpy as np
import pandas as pd
import pytest

from cvxens.trees import Cases, Table, Training, fit_tree, nominal_split

NAMES = ["outlook", "temperature", "humidity", "windy"]
DAYS = """
sunny    75 70 true  play
sunny    80 90 true  stay
sunny    85 85 false stay
sunny    72 95 false stay
sunny    69 70 false play
overcast 72 90 true  play
overcast 83 78 false play
overcast 64 65 true  play
overcast 81 75 false play
rain     71 80 true  stay
rain     65 70 true  stay
rain     75 80 false play
rain     68 80 false play
rain     70 96 false play
"""
ROWS = [day.split() for day in DAYS.strip().splitlines()]
Y = [row[-1] for row in ROWS]
TOP = [
    "outlook = overcast: play (4.0)",
    "outlook = rain:",
    "|   windy = false: play (3.0)",
    "|   windy = true: stay (2.0)",
    "outlook = sunny:",
]


def numeric():
    return pd.DataFrame([row[:-1] for row in ROWS], columns=NAMES)


def nominal():
    def grade(value, *limits):
        return ["low", "middle", "high"][sum(int(value) > limit for limit in limits)]

    return pd.DataFrame(
        [[sky, grade(heat, 70, 78), "high" if int(wet) > 79 else "normal", windy] for sky, heat, wet, windy, _ in ROWS],
        columns=NAMES,
    )


@pytest.mark.parametrize("confidence", [None, 0.25])
def test_numeric_humidity(confidence):
    tree = fit_tree(numeric(), Y, confidence=confidence)
    assert str(tree).splitlines() == [*TOP, "|   humidity <= 75: play (2.0)", "|   humidity > 75: stay (3.0)"]
    assert (tree.n_leaves, tree.depth) == (5, 2)
    assert tree.predict(numeric()).tolist() == Y


def test_nominal_humidity():
    tree = fit_tree(nominal(), Y)
    assert str(tree).splitlines() == [*TOP, "|   humidity = high: stay (3.0)", "|   humidity = normal: play (2.0)"]
    assert tree.predict(nominal()).tolist() == Y


def test_rules():
    assert [str(rule) for rule in fit_tree(numeric(), Y).rules()] == [
        "if outlook = overcast then play (4.0)",
        "if outlook = rain and windy = false then play (3.0)",
        "if outlook = rain and windy = true then stay (2.0)",
        "if outlook = sunny and humidity <= 75 then play (2.0)",
        "if outlook = sunny and humidity > 75 then stay (3.0)",
    ]


def test_the_gain_of_the_root_with_an_unknown_outlook():
    """Quinlan 1993, chapter 3: with the outlook of one overcast day unknown, gain 0.199 and split information 1.809."""
    rows = [row[:-1] for row in ROWS]
    rows[5][0] = "?"
    table = Table.read(pd.DataFrame(rows, columns=NAMES))
    y = np.unique(Y, return_inverse=True)[1]
    data = Training(table.columns, np.array([f.n_values for f in table.features]), y, 2)
    gain, info = nominal_split(data, 0, Cases(np.arange(14), np.ones(14)), 2.0)
    assert (round(gain, 3), round(info, 3)) == (0.199, 1.809)


def test_an_unknown_outlook_goes_down_every_branch():
    """Quinlan 1993, chapter 3: the tree with one unknown outlook, and a sunny day of unknown humidity."""
    rows = [row[:-1] for row in ROWS]
    rows[5][0] = "?"
    tree = fit_tree(pd.DataFrame(rows, columns=NAMES), Y)
    assert str(tree).splitlines() == [
        "outlook = overcast: play (3.2)",
        "outlook = rain:",
        "|   windy = false: play (3.0)",
        "|   windy = true: stay (2.4/0.4)",
        "outlook = sunny:",
        "|   humidity <= 75: play (2.0)",
        "|   humidity > 75: stay (3.4/0.4)",
    ]
    assert tree.classes == ("play", "stay")
    found = tree.predict_proba([["sunny", 70, None, "false"]])[0]
    np.testing.assert_allclose(found, [2 / 5.4 + 3.4 / 5.4 * 0.11, 3.4 / 5.4 * 0.89], atol=0.01)
