"""`cvxens report`: a saved model as a page, with and without samples, and what it refuses."""

import json
import re

import pytest
from command_line import fit, run, small, write_csv


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "data.csv", *small(30))


@pytest.fixture
def model(capsys, data):
    return fit(capsys, data)


def content_of(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1])


def test_a_model_is_reported_on_samples(capsys, tmp_path, model, data):
    out = tmp_path / "model.html"
    status, told, err = run(capsys, "report", model, data, "--out", out, "--explain", 4, "--explain", 0)
    assert (status, err) == (0, "")
    assert told == f"report of LPBoostClassifier on 30 samples; saved to {out}\n"
    content = content_of(out)
    assert [sample["name"] for sample in content["explained"]["samples"]] == ["4", "0"]
    assert content["explained"]["samples"][0]["target"] in {"good", "bad"}
    assert {main["name"] for main in content["effects"]["mains"]} <= {"x0", "x1"}


def test_samples_that_the_fit_has_not_seen(capsys, tmp_path, model, data):
    X, y = small(40)
    test, out = write_csv(tmp_path / "test.csv", X[30:], y[30:]), tmp_path / "model.html"
    status, _, err = run(capsys, "report", model, data, "--test", test, "--title", "Good & bad", "--out", out)
    assert (status, err) == (0, "")
    content = content_of(out)
    assert content["title"] == "Good & bad"
    assert dict(content["overview"])["Target"] == "class"
    assert "on data.csv" in content["kind"]
    assert sum(map(sum, content["quality"]["confusion"])) == 10
    assert "Good &amp; bad</h1>" in out.read_text()


def test_without_data_no_sample_is_in_the_page(capsys, tmp_path, model):
    out = tmp_path / "model.html"
    assert run(capsys, "report", model, "--out", out)[1] == f"report of LPBoostClassifier; saved to {out}\n"
    assert content_of(out)["explained"] is None
