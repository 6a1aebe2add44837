"""The table of what estimators take and give is what their classes say, and has no holes that are not told of."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("table_of_estimators", DOCS / "estimators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_classes_say(table):
    assert (DOCS / "estimators.md").read_text() == table.write(), "run python docs/estimators.py"


def test_every_classifier_has_probabilities_and_weights(table):
    for name, model in table.list_public().items():
        row = table.describe(name, model)
        # members of the samples of experts are drawn, each as often as any; the loss of a ranking is one of pairs
        if "SupervisedKernel" not in name and "Ranker" not in name:
            assert row["weights of samples"], name
        if hasattr(model, "decision_function"):
            assert row["probabilities"], name
            assert row["several classes"], name
            assert row["weights of classes"] or "SupervisedKernel" in name, name
