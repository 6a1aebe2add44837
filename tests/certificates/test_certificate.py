import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.certificates import ROUNDING, Certificate, relative

finite = st.floats(-1e12, 1e12)


def between(primal, dual, **changed):
    return Certificate.between(primal, dual, **{"residuals": {}, "repair": {}, **changed})


@settings(max_examples=100)
@given(primal=finite, dual=finite, maximise=st.booleans(), rounding=st.none() | st.floats(0, 1e3))
def test_the_gap_is_primal_less_dual_in_the_sense_of_the_problem_and_the_rounding(primal, dual, maximise, rounding):
    certificate = between(primal, dual, maximise=maximise, rounding=rounding)
    size = max(abs(primal), abs(dual))
    counted = ROUNDING * size if rounding is None else rounding
    gap = (dual - primal if maximise else primal - dual) + counted
    assert certificate.gap == gap
    assert certificate.rounding == counted
    if size > 1e-300:
        assert certificate.relative_gap == pytest.approx(gap / size, rel=1e-12)
    assert (certificate.primal, certificate.dual) == (primal, dual)
    assert certificate.proven == (gap >= 0)
    assert certificate.holds(math.inf) == (gap >= 0)


def test_a_negative_gap_beyond_rounding_is_not_hidden_and_proves_nothing():
    for maximise in (False, True):
        worse, better = (1.0, 1.0 + 1e-12)[:: 1 if maximise else -1], (1.0, 1.0 + 1e-12)[:: -1 if maximise else 1]
        assert not between(*better, maximise=maximise).holds(1.0)
        assert not between(*better, maximise=maximise).proven
        assert "weak duality" in between(*better, maximise=maximise).note
        assert between(*better, maximise=maximise).gap == pytest.approx(-1e-12 + ROUNDING, rel=1e-3)
        assert between(*worse, maximise=maximise).holds(1e-11)
    assert not between(-5.0, 0.0).holds(math.inf)


def test_a_rounding_error_is_added_to_every_gap_and_hides_none():
    within = between(1.0, 1.0 + 1e-10, rounding=1e-9)
    assert within.gap == pytest.approx(9e-10, rel=1e-3)
    assert within.holds(1e-9)
    assert not within.holds(1e-10)
    for missed in (1.5e-9, 1e-8):  # by less than the rounding, and by more
        beyond = between(1.0, 1.0 + missed, rounding=1e-9)
        assert beyond.relative_gap < 0
        assert not beyond.proven
        assert not beyond.holds(math.inf)
    assert not Certificate(1.0, 2.0, -1.0, -0.5, {}, {}, proven=True).holds(math.inf)
    assert between(1.0, 1.0 - 1e-10, rounding=1e-9).gap == pytest.approx(1.1e-9, rel=1e-3)
    assert not between(1.0, 1.0, rounding=math.inf).proven
    assert not between(1.0, 1.0, rounding=math.nan).proven


@pytest.mark.parametrize("maximise", [False, True])
@pytest.mark.parametrize(
    ("primal", "dual"),
    [(math.inf, 1.0), (1.0, -math.inf), (math.inf, -math.inf), (math.nan, 1.0), (1.0, math.nan), (math.nan, math.nan)],
)
def test_a_value_that_is_not_finite_proves_nothing(primal, dual, maximise):
    certificate = between(-primal, -dual, maximise=True) if maximise else between(primal, dual)
    assert certificate.gap == certificate.relative_gap == math.inf
    assert not certificate.proven
    assert not certificate.holds(math.inf)
    assert not math.isnan(certificate.primal)
    assert not math.isnan(certificate.dual)
    assert "proven          no" in str(certificate)


def test_equal_values_and_zero_have_no_gap():
    for value in (0.0, -0.0, 3.0, -3.0, 1e-300):
        certificate = between(value, value, rounding=0.0)
        assert (certificate.gap, certificate.relative_gap) == (0.0, 0.0)
        assert certificate.holds(0.0)


@settings(max_examples=100)
@given(gap=st.floats(1e-3, 1e3), size=st.floats(1e-3, 1e3), unit=st.sampled_from([1e-290, 1e-30, 1.0, 1e30, 1e290]))
def test_a_relative_gap_does_not_depend_on_the_unit_of_the_objective(gap, size, unit):
    assert relative(gap * unit, -size * unit) == pytest.approx(gap / size, rel=1e-12)


def test_a_relative_gap_at_an_objective_of_zero_is_zero_or_infinite():
    assert relative(1.0, -4.0, 2.0) == 0.25
    assert relative(0.0, 0.0) == 0
    assert relative(1e-300, 0.0) == math.inf
    assert relative(-1e-300, 0.0) == -math.inf
    assert between(1e-12, -1e-12).relative_gap == pytest.approx(2)


def test_holding_needs_a_proof_and_the_tolerance():
    certificate = between(1.0, 0.99)
    assert certificate.holds(0.02)
    assert not certificate.holds()
    unproven = between(1.0, 1.0, rounding=0.0, proven=False, note="the oracle cannot bound the edge")
    assert not unproven.holds(1.0)
    assert unproven.gap == 0


def test_the_worst_residual():
    assert between(1.0, 1.0, residuals={"stationarity": 0.1, "pricing slack": 0.3}).kkt_residual == 0.3
    assert between(1.0, 1.0).kkt_residual == 0


SHOWN = between(
    -1.25,
    -1.5,
    residuals={"primal feasibility": 0.0, "stationarity": 1.5e-7},
    repair={"w": 0.0, "b": math.inf},
    note="over <all> & more",
    rounding=0.0,
)


def test_the_text_is_a_table_of_what_is_known():
    rows = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in str(SHOWN).splitlines())
    assert rows == {
        "primal": "-1.25",
        "dual": "-1.5",
        "gap": "0.25  (relative 0.167)",
        "rounding": "0",
        "primal feasibility": "0",
        "stationarity": "1.5e-07",
        "repair": "w moved by 0, b derived",
        "proven": "yes: over <all> & more",
    }
    starts = {re.search(r"\s{2,}(?=\S)", line).end() for line in str(SHOWN).splitlines()}
    assert len(starts) == 1
    assert "none" in str(between(1.0, 1.0))


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_notebook_shows_the_same_table_escaped():
    html = SHOWN._repr_html_()
    cells = Cells()
    cells.feed(html)
    assert cells.texts[::2] == [re.split(r"\s{2,}", line)[0] for line in str(SHOWN).splitlines()]
    assert cells.texts[1::2] == [re.split(r"\s{2,}", line, maxsplit=1)[1] for line in str(SHOWN).splitlines()]
    assert set(cells.tags) == {"table", "tr", "th", "td"}
    assert "over &lt;all&gt; &amp; more" in html
    assert html.startswith("<table>")
    assert html.endswith("</table>")


def test_certificates_are_frozen_values():
    with pytest.raises(AttributeError):
        SHOWN.gap = 0.0
    assert between(1.0, 0.5, note="a") == between(1.0, 0.5, note="b")
    assert between(1.0, 0.5) != between(1.0, 0.25)
    assert type(between(np.float64(1.0), np.float64(0.5)).gap) is float
    assert type(between(np.float64(1.0), np.float64(0.5)).relative_gap) is float


def test_a_bound_under_a_condition_is_not_proven_and_says_so():
    under = Certificate.between(1.0, 1.0, rounding=0.0, condition="only for small variables")
    assert not under.proven
    assert not under.holds(0.1)
    assert "conditional, only for small variables" in str(under)
    assert under.to_dict()["condition"] == "only for small variables"
