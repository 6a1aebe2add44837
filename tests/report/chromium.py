"""A real browser for reports: a Chromium of this machine, without a window."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
ABSENT = (
    "no browser is found that could open a report: install Chromium (on Debian: apt-get install chromium), "
    "or name one in the environment variable CVXENS_BROWSER"
)


def find_browser(tmp_path_factory):
    """A function from HTML, with a script to run in it, to what the script returns, the DOM and the console."""
    browser = os.environ.get("CVXENS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip(ABSENT)

    def run(html, script=None, width=1280, height=900):
        folder = tmp_path_factory.mktemp("browser")
        (folder / "page.html").write_text(html if script is None else _add_script(html, script), encoding="utf-8")
        options = [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}"]
        # Chromium's sandbox refuses root; the page is the test's own
        options += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        options += ["--headless", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=2000"]
        command = [browser, *options, "--dump-dom", (folder / "page.html").as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        console = re.findall(r"CONSOLE[^\]]*\] (.*)", done.stderr)
        found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
        return found and json.loads(base64.b64decode(found[1])), done.stdout, console

    return run


def _add_script(html, script):
    """Run a script after the page's own: its hash goes into the policy, and what it returns into the page."""
    text = f"""
const found = (() => {{ {script} }})();
const pre = document.createElement("pre");
pre.id = "found";
pre.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
document.body.append(pre);
"""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    allowed = html.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
    return allowed.replace("</body>", f"<script>{text}</script></body>")
