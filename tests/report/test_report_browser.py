"""Reports opened in a real browser: what is drawn, what can be clicked, and that the console stays silent."""

import numpy as np
import pandas as pd
import pytest
from chromium import find_browser

from cvxens import LPBoostClassifier
from cvxens.report import Report

HARMFUL = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def open_page(tmp_path_factory):
    return find_browser(tmp_path_factory)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "dose", HARMFUL])
    X["two"] = rng.integers(0, 2, size=60).astype(float)
    t = 2 * (X["age"] > 0) * (X["dose"] > 0) + 0.5 * X["two"] + 0.6 * X[HARMFUL]
    return X, np.array(["low", "<i>middle", "high"])[np.digitize(t, [0.3, 1.2])]


@pytest.fixture(scope="module")
def page(sample):
    model = LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(*sample)
    return Report(model, *sample).to_html()


def test_a_report_is_drawn_in_full_without_a_word_on_the_console(open_page, page):
    found, dom, console = open_page(page)
    assert found is None
    assert console == []
    assert "<title>LPBoostClassifier: a report</title>" in dom
    assert "<img" not in dom
    for words in ("What is proven", "Proven: the objective is ", "Show values", "Shapley values, by feature"):
        assert (words in dom) == (words != "Show values")
    for part in ('id="waterfall"', 'class="curve"', 'class="cell-up"', 'class="density"', 'id="rule-table"'):
        assert part in dom
    assert dom.count('role="img"') >= 6


INTERACT = """
const all = (selector) => [...document.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
const out = { title: document.title, narrow: document.documentElement.scrollWidth <= window.innerWidth };
const heads = all("#rule-table th");
const place = heads.findIndex((head) => head.textContent === "support");
const column = () => all("#rule-table tbody tr").map((row) => Number(row.cells[place].textContent));
out.rows = column().length;
heads[place].querySelector("button").click();
out.down = column();
out.sorted = heads[place].getAttribute("aria-sort");
heads[place].querySelector("button").click();
out.up = column();
const filter = one("#filter");
filter.value = "DOSE age";
filter.dispatchEvent(new Event("input"));
out.filtered = all("#rule-table tbody tr").map((row) => row.textContent);
out.status = one("#rules [role=status]").textContent;
const value = () => one("#waterfall .total:last-child .value").textContent;
const choose = (selector, at) => {
  const box = one(selector);
  box.value = String(at);
  box.dispatchEvent(new Event("change"));
};
out.scores = [0, 3].map((k) => { choose("#sample", k); return value(); });
one("#shapley").click();
out.shapley = [one("#shapley").checked, value(), all("#waterfall .label").map((label) => label.textContent)];
choose("#output", 1);
out.output = one("#explained p[aria-live]").textContent;
const picture = one("#shapes svg");
picture.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", cancelable: true }));
out.first = one("#shapes .readout").textContent;
picture.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", cancelable: true }));
out.second = one("#shapes .readout").textContent;
const cell = one("#pairs svg");
const box = cell.getBoundingClientRect();
cell.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 40 }));
out.pair = one("#pairs .readout").textContent;
one("#theme").click();
out.light = getComputedStyle(document.body).backgroundColor;
one("#theme").click();
out.dark = getComputedStyle(document.body).backgroundColor;
out.images = all("img").length;
return out;
"""


def test_what_is_not_there_has_no_section(open_page, sample):
    X, y = sample
    model = LPBoostClassifier(C=1.0).fit(X, y == "low")
    visible = "return [...document.querySelectorAll('section')].filter((s) => !s.hidden).map((s) => s.id);"
    found, dom, console = open_page(Report(model, X, y == "low", held_out=(X, y == "low")).to_html(), visible)
    assert console == []
    assert found == ["overview", "quality", "importance", "shapes", "explained", "rules", "history"]
    assert "ROC curve, area 1" in dom
    assert "taken for True" in dom


def test_what_can_be_clicked_and_typed_does_what_it_says(open_page, page):
    found, _, console = open_page(page, INTERACT, width=400)
    assert console == []
    assert found["title"] == "LPBoostClassifier: a report"
    assert found["images"] == 0
    assert found["narrow"]
    assert found["down"] == sorted(found["down"], reverse=True)
    assert found["up"] == sorted(found["up"])
    assert (len(found["up"]), found["sorted"]) == (found["rows"], "descending")
    assert found["up"] != found["down"]
    assert 0 < len(found["filtered"]) < found["rows"]
    assert all("dose" in row and "age" in row for row in found["filtered"])
    assert found["status"].startswith(f"{len(found['filtered'])} shown, of {found['rows']} rules")
    assert found["scores"][0] != found["scores"][1]
    checked, score, labels = found["shapley"]
    assert (checked, score) == (True, found["scores"][1])
    assert {label.partition(" = ")[0] for label in labels} <= {
        *("mean score", "score", "all others"),
        *("age", "dose", "two", HARMFUL),
    }
    assert found["output"].endswith("Score of high")
    assert found["first"]
    assert found["first"] != found["second"]
    assert "% of the samples" in found["pair"]
    assert (found["light"], found["dark"]) == ("rgb(255, 255, 255)", "rgb(20, 24, 31)")
