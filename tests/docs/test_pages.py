"""What the pages of the site show runs: every example prints what stands below it, and every file of a reader's own."""

import contextlib
import io
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_array, hstack, identity

import cvxens

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCS / "index.md",
    DOCS / "install.md",
    DOCS / "questions.md",
    *sorted(path for folder in ("learn", "do", "know") for path in (DOCS / folder).glob("*.md")),
]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", flags=re.DOTALL)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
EXAMPLES = {str(page.relative_to(DOCS)): found for page in PAGES if (found := BLOCK.findall(page.read_text()))}
FILES = sorted((DOCS / "do" / "files").glob("*.py"))


def solve_over_all_patterns(of) -> float:
    """Return the fewest rolls, by HiGHS over a list of every way of cutting one."""
    patterns, room = [()], [of["width"]]
    for length in of["lengths"]:
        listed = [(p, r, k) for p, r in zip(patterns, room, strict=True) for k in range(r // length + 1)]
        patterns, room = [(*p, k) for p, _, k in listed], [r - k * length for _, r, k in listed]
    return linprog(np.ones(len(patterns)), A_ub=-np.array(patterns).T, b_ub=-of["ordered"]).fun


def solve_over_arcs(of) -> float:
    """Return the least cost, by HiGHS over what each arc carries of each good, which knows no paths."""
    arcs, goods, amounts = of["arcs"], of["goods"], of["amounts"]
    n, at = len(arcs), np.arange(len(arcs))
    leaves, enters = (csr_array((np.ones(n), (arcs[:, end], at))) for end in (0, 1))
    supply = np.zeros((len(goods), leaves.shape[0]))
    for k, (start, end) in enumerate(goods):
        supply[k, [start, end]] = amounts[k], -amounts[k]
    together, every = hstack([identity(n)] * len(goods)), block_diag([leaves - enters] * len(goods))
    limits = {"A_ub": together, "b_ub": np.full(n, of["capacity"])}
    return linprog(np.tile(of["costs"], len(goods)), **limits, A_eq=every, b_eq=supply.ravel()).fun


def solve_over_all_points(of) -> float:
    """Return the least of minus the least eigenvalue, by Clarabel with a weight for every point at once."""
    points, t = of["points"], cp.Variable()
    w = cp.Variable(len(points), nonneg=True)
    p = points.shape[1]
    M = cp.reshape(np.einsum("ij,ik->jki", points, points).reshape(p * p, -1) @ w, (p, p), order="C")
    problem = cp.Problem(cp.Minimize(-t), [(M + M.T) / 2 >> t * np.eye(p), cp.sum(w) == 1])
    return problem.solve(solver=cp.CLARABEL)


ALL_AT_ONCE = {
    "cutting_stock": solve_over_all_patterns,
    "flow_by_paths": solve_over_arcs,
    "optimal_design": solve_over_all_points,
}
"""An independent road to the optimum of those files that are beyond boosting."""


def test_there_are_pages_and_examples() -> None:
    assert len(PAGES) >= 20
    assert len(EXAMPLES) >= 10
    assert len(FILES) == 8


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_print_what_stands_below_them(page: str) -> None:
    """Those of a page run one after the other; words are the same to the letter, numbers to four digits."""
    known: dict[str, object] = {}
    for code, expected in EXAMPLES[page]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), known)
        if expected:
            assert NUMBER.sub("#", printed.getvalue()) == NUMBER.sub("#", expected)
            found, wanted = ([float(n) for n in NUMBER.findall(text)] for text in (printed.getvalue(), expected))
            assert found == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_of_a_readers_own_runs_and_keeps_its_promises(path: Path, capsys) -> None:
    """The files assert what their pages claim; at most 75 lines each, and 40 of code where there are no samples."""
    known, text = runpy.run_path(str(path), run_name="__main__"), path.read_text()
    assert "primal" in capsys.readouterr().out
    assert len(text.splitlines()) <= 75
    if path.stem in ALL_AT_ONCE:
        assert known["run"].certificate.primal == pytest.approx(ALL_AT_ONCE[path.stem](known), rel=1e-6)
        assert len(re.findall(r'^(?! *(?:#|"""|from |import )).*\S', text, flags=re.MULTILINE)) <= 40


@pytest.fixture
def of_site(monkeypatch):
    """Import a module of the site by its name."""
    monkeypatch.syspath_prepend(str(DOCS))
    for name in ("reference", "mathematics"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return import_module


def test_every_public_name_is_in_the_reference(of_site) -> None:
    """What the rooms export is on a page, once."""
    reference = of_site("reference")
    listed = [name for modules in reference.entries().values() for names in modules.values() for name in names]
    rooms = ["cvxens", *(f"cvxens.{room}" for room in ("problems", "colgen", "kernels", "solvers", "plotting"))]
    missing = [f"{room}.{name}" for room in rooms for name in reference.public_names(room) if name not in listed]
    assert not missing
    assert set(reference.public_names("cvxens")) >= {n for n in cvxens.__all__ if n.endswith(("er", "or", "SVC"))}


def test_the_paper_says_what_was_measured() -> None:
    """Its numbers, tables and example are what their sources say, and no other digit is typed."""
    paper = DOCS.parent / "paper"
    known = runpy.run_path(str(paper / "measured.py"))
    assert (paper / "numbers.tex").read_text() == known["write_numbers"]()
    assert (paper / "example.txt").read_text() == known["write_example"]()
    assert known["find_typed"]() == []


def test_near_to_each_estimator_are_others(of_site) -> None:
    """Each page of one ends with them, and the list of estimators has no other name."""
    reference = of_site("reference")
    [names] = reference.entries()[reference.SECTIONS[0]].values()
    assert "LPBoostClassifier" in names
    assert not {"Formulation", "certify", "ClassLoss"} & set(names)
    assert {name for name in names if not reference.near(name)} == set()
    assert {name for family in reference.FAMILIES for name in family} == set(names)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("least over u: min 1/2 u'(K o yy')u - sum u.", r"min \tfrac{1}{2} u^\top (K \circ y y^\top )u - \sum u"),
        ("K(x, x') = Delta - |x - x'|_1, with", r"K(x, x') = \Delta - |x - x'|_{1}"),
        ("for y_i <w, phi(x_i)> >= rho - xi_i, without", r"y_{i} \langle w, \phi(x_{i})\rangle \ge \rho - \xi_{i}"),
        ("(eta >= 0 for <=) of", r"\eta \ge 0"),
        ("U_ik is sum_{k != y_i} v_ik", r"\sum_{k \ne y_{i}} v_{ik}"),
        ("dual K~ = K o yy', and", r"\tilde{K} = K \circ y y^\top"),
    ],
)
def test_formulas_in_docstrings_are_mathematics(of_site, text: str, shown: str) -> None:
    assert shown in of_site("mathematics").find(text)


@pytest.mark.parametrize(
    "text",
    [
        "Give (n_samples, n_features), a list, or max_time = None.",
        "A sample's weight is a factor on its C (SL (9), P4).",
        "`oracle=stumps` and all others: 12 of 42, I say - a few.",
    ],
)
def test_sentences_stay_sentences(of_site, text: str) -> None:
    assert ":math:" not in of_site("mathematics").find(text)


def test_what_holds_print_and_code_together_is_there() -> None:
    """Each test that the page names is one, and each file of tests."""
    root, page = DOCS.parent, (DOCS / "know" / "papers.md").read_text()
    tests = "".join(path.read_text() for path in (root / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 30
    assert [name for name in sorted(named) if f"def {name}(" not in tests] == []
    assert all((root / file).exists() for file in re.findall(r"`(tests/[\w/.]+)`", page))
