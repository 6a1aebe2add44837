"""The page that checks a proof in the browser: the proof checker as it is, run by Pyodide, and an example of a proof.

Pyodide is Python for browsers, as WebAssembly. It is npm's package, by its hash, had once when the site is built, and
part of the built site alone. Browsers let a page that is opened as a file load scripts, and fetch nothing: so all that
runs is in scripts, compressed, as base64.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from html import escape
from pathlib import Path
from typing import Any

from sklearn.datasets import load_breast_cancer

from cvxens import LPBoostClassifier
from cvxens.proofs import checker
from cvxens.proofs.proof import Layout

PYODIDE = "314.0.7"
SHA256 = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
"""The version of npm's package, and the hash of its archive."""

PARTS = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
"""Files of the package that a browser runs."""

PIECE = 3 * 2**18
"""Bytes of a script, so that loading shows progress; a multiple of 3, which base64 writes without a rest."""

PROOF, DATA = "breast_cancer.proof.json", "breast_cancer.csv"


def fetch(folder: Path) -> Path | None:
    """Return the archive of Pyodide, in `folder` or had by npm now, or None where it cannot be had, and say why."""
    archive, npm = folder / f"pyodide-{PYODIDE}.tgz", shutil.which("npm")
    if not archive.exists():
        if npm is None:
            return tell("there is no npm")
        folder.mkdir(parents=True, exist_ok=True)
        patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"]
        try:
            done = subprocess.run(
                [npm, "pack", f"pyodide@{PYODIDE}", "--silent", *patience],
                cwd=folder,
                capture_output=True,
                timeout=300,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return tell("npm has not answered in five minutes")
        if done.returncode or not archive.exists():
            return tell(f"npm could not have it (exit status {done.returncode})")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        archive.unlink()
        return tell("the archive that npm had has another hash than docs/checking.py names")
    return archive


def tell(why: str) -> None:
    """Say that the page will check no proof."""
    words = f"{why}, so the page on checking proofs says how to do it from the command line"
    sys.stderr.write(f"docs: no Pyodide {PYODIDE} for the site: {words}.\n")


def make_example(folder: Path) -> dict[str, bytes]:
    """Write a proof, its data and the checker for readers to have; return them, with a proof that was tampered with."""
    folder.mkdir(parents=True, exist_ok=True)
    read = load_breast_cancer()
    y = read.target_names[read.target]
    columns = [name.replace(" ", "_") for name in read.feature_names]
    layout = Layout(columns, "diagnosis", ("benign", "malignant"))
    proof = LPBoostClassifier(C=0.05).fit(read.data, y).prove(read.data, y, layout=layout)
    proof.save(folder / PROOF, folder / DATA)
    shutil.copy(checker.__file__, folder / "checker.py")
    files = {name: (folder / name).read_bytes() for name in (PROOF, DATA, "checker.py")}
    return files | {"tampered": json.dumps(tamper(json.loads(files[PROOF]))).encode()}


def tamper(proof: dict[str, Any]) -> dict[str, Any]:
    """Return a proof whose first weight is one unit larger, sealed anew as its writer would have sealed it."""
    term = proof["model"]["terms"][0]
    term["weight"] = str(int(term["weight"]) + 1)
    content = {key: value for key, value in proof.items() if key != "sha256"}
    return content | {"sha256": checker.digest([json.dumps(content, sort_keys=True)])}


def pack(archive: Path, files: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """Write Pyodide and `files` as scripts; return what a page has to know of them."""
    with tarfile.open(archive) as package:
        held = {name: package.extractfile(f"package/{name}").read() for name in (*PARTS, "pyodide-lock.json")}
    lock = json.loads(held.pop("pyodide-lock.json"))
    held["pyodide-lock.json"] = json.dumps({"info": lock["info"], "packages": {}}).encode()
    held |= files
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packed:
        packed.writelines(held.values())
    raw = stream.getvalue()
    pieces = [base64.b64encode(raw[at : at + PIECE]).decode() for at in range(0, len(raw), PIECE)]
    for k, piece in enumerate(pieces):
        (folder / f"python-{k}.js").write_text(f'cvxensPieces[{k}] = "{piece}";\n')
    return {
        "pieces": len(pieces),
        "megabytes": round(sum(map(len, pieces)) / 1e6, 1),
        "files": [[name, len(content)] for name, content in held.items()],
        "proof": PROOF,
        "data": DATA,
    }


def write(folder: Path, archive: Path | None) -> dict[str, Any] | None:
    """Write all that the page needs into `folder`; return what it has to know of it, None without Pyodide."""
    shutil.rmtree(folder, ignore_errors=True)
    files = make_example(folder)
    return None if archive is None else pack(archive, files, folder)


def list_files(static: str) -> str:
    """Return links to the checker and the example; `static` leads to what was written."""
    named = (("checker.py", "the checker"), (PROOF, "the example's proof"), (DATA, "its data"))
    links = (f'<a href="{static}/check/{name}" download><code>{name}</code></a>, {words}' for name, words in named)
    return f"<p>{'; '.join(links)}.</p>"


def show(told: dict[str, Any] | None, static: str) -> str:
    """Return the part of the page that checks proofs, or says that it does not; `static` leads to what was written."""
    if told is None:
        return (
            '<div class="admonition note check-proof-missing"><p class="admonition-title">Not on this site</p>'
            "<p>This site was built where Pyodide, Python for browsers, could not be had. "
            'Check the proof <a href="#from-the-command-line">from the command line</a>: it takes one file.</p></div>'
        )
    data = escape(json.dumps(told | {"at": f"{static}/check/"}), quote=True)
    return f"""
<form class="check-proof" data-told="{data}">
  <label>The proof <input type="file" class="form-control" name="proof" accept=".json,application/json"></label>
  <label>Its data <input type="file" class="form-control" name="data"></label>
  <div class="check-proof-buttons">
    <button type="submit" class="btn" disabled>Check</button>
    <button type="button" class="btn" data-example="{PROOF}">Check the example</button>
    <button type="button" class="btn" data-example="tampered">The example, one weight changed</button>
    <button type="button" class="btn" data-stop hidden>Stop</button>
  </div>
  <progress max="1" value="0" hidden></progress>
  <p role="status" aria-live="polite">Choose two files, or take the example. Python comes with the first check:
  {told["megabytes"]} MB of this site.</p>
  <pre class="check-proof-outcome" tabindex="0" hidden></pre>
  <noscript><p>This needs JavaScript. Without it, check from the command line, as below.</p></noscript>
</form>
<script src="{static}/check.js"></script>
"""
