"""The built site, as a reader has it: opened from disk, in a browser, without a network.

`make docs` builds it and runs these tests. They need Chromium (Debian: ``apt-get install chromium``), and what is said
of links, images and scripts needs none.
"""

import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

SITE = Path(os.environ.get("CVXENS_SITE", Path(__file__).parent / "_build" / "html"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
SEEN = [
    "index.html",
    "learn/pair.html",
    "learn/choose.html",
    "know/formulations/LPBoost.html",
    "know/errors.html",
    "api/estimators.html",
    "api/generated/cvxens.LPBoostClassifier.html",
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
    broken = []
    for path, page in links.items():
        for link in page.links | page.loaded:
            address, anchor = urldefrag(link)
            if re.match(r"[a-z]+:", address):
                continue
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            if not target.exists():
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
    """At most 60 MB."""
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) <= 60e6


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
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), f"{name} is too wide"
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
