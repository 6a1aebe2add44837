"""The built site, as a reader has it: opened from disk, in a browser, without a network.

`make docs` builds it and runs these tests. They need Chromium (Debian: ``apt-get install chromium``), and what is said
of links, images and scripts needs none.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urldefrag

import checking
import pytest
from sklearn.datasets import load_breast_cancer

from cvxens import InfiniteEnsembleSVC

SITE = Path(os.environ.get("CVXENS_SITE", Path(__file__).parent / "_build" / "html"))
CHECK = SITE / "_static" / "check"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
SEEN = [
    "index.html",
    "learn/pair.html",
    "learn/choose.html",
    "do/check_proof.html",
    "know/formulations/LPBoost.html",
    "know/errors.html",
    "api/estimators.html",
    "api/generated/cvxens.LPBoostClassifier.html",
    "api/generated/cvxens.column_generation.html",
    "notebooks/five_minutes.html",
]

pytestmark = pytest.mark.skipif(not PAGES, reason="no site has been built: make docs")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found: apt-get install chromium")


class Links(HTMLParser):
    """The links, sources and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        of = dict(attrs)
        self.anchors |= {of[key] for key in ("id", "name") if of.get(key)}
        if tag == "a" and of.get("href"):
            self.links.add(of["href"])
        if tag in {"img", "script"} and of.get("src"):
            self.loaded.add(of["src"])
        if tag == "link" and "stylesheet" in (of.get("rel") or ""):
            self.loaded.add(of["href"])


@pytest.fixture(scope="module")
def links() -> dict[Path, Links]:
    return {path: Links(path.read_text()) for path in PAGES}


def test_no_link_inside_of_the_site_is_broken(links) -> None:
    broken, is_there = [], cache(Path.exists)
    for path, page in links.items():
        for link in page.links | page.loaded:
            address, anchor = urldefrag(link)
            if re.match(r"[a-z]+:", address):
                continue
            target = Path(normpath(path.parent / unquote(address.partition("?")[0]))) if address else path
            if not is_there(target):
                broken.append(f"{path.relative_to(SITE)}: {link}")
            # the way back from a listing of source leads to the right page, and to a place that Sphinx names otherwise
            elif (
                anchor
                and target in links
                and "_modules" not in path.parts
                and unquote(anchor) not in links[target].anchors
            ):
                broken.append(f"{path.relative_to(SITE)}: {link} (no such place)")
    assert not broken, "\n".join(broken[:20])


def test_nothing_is_loaded_from_a_network(links) -> None:
    loaded = {address for page in links.values() for address in page.loaded if re.match(r"(https?:)?//", address)}
    assert not loaded


def test_the_site_is_small() -> None:
    """At most 60 MB, and 9 MB of Python, which the page that checks proofs loads when it is asked to."""
    python = sum(path.stat().st_size for path in CHECK.glob("python-*.js"))
    assert python <= 9e6
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) - python <= 60e6


@pytest.mark.parametrize(
    "page",
    [
        "install.html",
        "learn/pair.html",
        "learn/choose.html",
        "know/certificates.html",
        "know/errors.html",
        "do/loss.html",
    ],
)
def test_a_stranger_is_there_in_two_clicks(links, page) -> None:
    def reached(path: Path) -> set[Path]:
        found = {
            (path.parent / unquote(urldefrag(link)[0])).resolve()
            for link in links[path].links
            if not re.match(r"[a-z]+:", link)
        }
        return {target for target in found if target in links}

    first = reached(SITE.resolve() / "index.html") if (SITE / "index.html") in links else set()
    second = set().union(*(reached(path) for path in first if path in links))
    assert (SITE / page).resolve() in first | second


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install '.[docs]'")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1300])
def test_pages_are_read_without_errors_and_fit_the_window(browser, width, scheme) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    for name in SEEN:
        page.goto((SITE / name).as_uri())
        assert page.locator("h1").first.is_visible()
        for part in ("document.documentElement", "document.querySelector('.bd-article-container')"):
            assert page.evaluate(f"{part}.scrollWidth <= {part}.clientWidth + 1"), f"{part} of {name} is too wide"
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)"), name
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.close()
    assert not wrong


@in_a_browser
def test_the_search_finds_what_proven_means(browser) -> None:
    page = browser.new_page()
    page.goto((SITE / "search.html").as_uri() + "?q=proven")
    found = page.locator("#search-results li a[href*='know/certificates']").first
    found.wait_for(timeout=20000)
    assert "certificate" in found.inner_text()
    page.close()


@in_a_browser
def test_a_code_block_is_copied_as_it_stands(browser, capsys) -> None:
    page = browser.new_page()
    page.goto((SITE / "index.html").as_uri())
    page.evaluate("document.addEventListener('copy', () => { window.copied = document.activeElement.value; })")
    page.locator("div.highlight-python").first.hover()
    page.locator("button.copybtn").first.click()
    page.wait_for_function("window.copied !== undefined", timeout=5000)
    exec(compile(page.evaluate("window.copied"), "front page", "exec"), {})
    assert "proven" in capsys.readouterr().out
    page.close()


EXAMPLE = [CHECK / checking.PROOF, CHECK / checking.DATA]


class Checking:
    """The page that checks proofs, in a browser."""

    def __init__(self, browser) -> None:
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page = browser.new_page(viewport={"width": 400, "height": 900})
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto((SITE / "do" / "check_proof.html").as_uri())
        if self.page.locator("form.check-proof").count() == 0:
            self.page.close()
            pytest.skip("the site was built without Pyodide")

    def press(self, button: str) -> tuple[str, str]:
        """Press a button, wait, and return what the checker printed, and what the page says of it."""
        self.page.get_by_role("button", name=button, exact=True).click()
        self.page.locator("[data-example]:enabled").first.wait_for(timeout=120_000)
        printed = self.page.locator("form.check-proof pre").text_content() or ""
        return printed.partition("\n")[2], self.page.locator("form.check-proof [role=status]").inner_text()

    def check(self, proof: Path, data: Path) -> str:
        """Choose two files and check them."""
        self.page.set_input_files("input[name=proof]", proof)
        self.page.set_input_files("input[name=data]", data)
        return self.press("Check")[0]


@pytest.fixture(scope="module")
def checking_page(browser):
    opened = Checking(browser)
    yield opened
    opened.page.close()


def check_at_command_line(proof: Path, data: Path) -> str:
    command = [sys.executable, "-I", str(CHECK / "checker.py"), str(proof), str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout.rstrip("\n")


@in_a_browser
def test_the_example_of_a_proof_is_checked_in_the_browser(checking_page) -> None:
    printed, told = checking_page.press("Check the example")
    assert printed == check_at_command_line(*EXAMPLE)
    assert printed.startswith("PASS: Over all stumps")
    assert re.match(r"Checked in \d+\.\d s by Python 3\.", told)
    printed, _ = checking_page.press("The example, one weight changed")
    assert printed == "FAIL: the values are not those stated"
    assert checking_page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert not checking_page.wrong
    assert {url.partition(":")[0] for url in checking_page.asked} <= {"file", "data", "blob"}


@in_a_browser
def test_files_are_checked_in_the_browser_as_at_the_command_line(checking_page, tmp_path) -> None:
    proof, data = EXAMPLE
    record = json.loads(proof.read_text())
    record["multipliers"][1] = str(int(record["multipliers"][1]) + 1)
    (tmp_path / "changed.json").write_text(json.dumps(record))
    (tmp_path / "none.json").write_text("[")
    cells = data.read_text().replace("17.99", "17.98", 1)
    (tmp_path / "other.csv").write_text(cells)
    X, y = load_breast_cancer(return_X_y=True)
    machine = InfiniteEnsembleSVC(kernel="gaussian", C=1.0).fit(X[:60], y[:60])
    machine.prove(X[:60], y[:60]).save(tmp_path / "kernel.json", tmp_path / "kernel.csv")
    expected = [
        (proof, data, "PASS: Over all stumps"),
        (tmp_path / "changed.json", data, "FAIL: the proof is not as it was written: its hash differs"),
        (tmp_path / "none.json", data, "FAIL: JSONDecodeError"),
        (proof, tmp_path / "other.csv", "FAIL: the features are others: their hash differs"),
        (tmp_path / "kernel.json", tmp_path / "kernel.csv", "PASS: Over all functions of the gaussian kernel"),
        (data, proof, "FAIL: "),
    ]
    for first, second, beginning in expected:
        printed = checking_page.check(first, second)
        assert printed.startswith(beginning)
        if sys.version_info[:2] == (3, 14) or "Error" not in printed:  # Python's own words vary by its version
            assert printed == check_at_command_line(first, second)


@in_a_browser
def test_a_check_is_stopped_and_another_begun(browser) -> None:
    opened = Checking(browser)
    assert opened.page.get_by_role("button", name="Check", exact=True).is_disabled()
    opened.page.get_by_role("button", name="Check the example").click()
    opened.page.get_by_role("button", name="Stop").click(timeout=60_000)
    assert "Nothing was checked: it was stopped" in opened.page.locator("form.check-proof [role=status]").inner_text()
    assert opened.press("Check the example")[0].startswith("PASS")
    opened.page.close()


def test_where_there_is_no_pyodide_the_site_says_so(tmp_path, monkeypatch, capsys) -> None:
    """And how to check all the same: without npm, without its registry, or where that has another file."""
    wrong = f"echo wrong > pyodide-{checking.PYODIDE}.tgz"
    for k, (script, why) in enumerate([(None, "there is no npm"), ("exit 7", "status 7"), (wrong, "another hash")]):
        folder = tmp_path / str(k)
        folder.mkdir()
        if script:
            (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
            (folder / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        assert checking.fetch(folder / "cache") is None
        (said,) = capsys.readouterr().err.splitlines()
        assert why in said
        assert "command line" in said
        assert not list((folder / "cache").glob("*.tgz"))
    assert 'href="#from-the-command-line"' in checking.show(None, "../_static")
