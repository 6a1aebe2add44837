"""The page itself: a template, a style and a script, which are files beside this one, and the content in between."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from cvxens import storage
from cvxens.report.content import describe_model

FOLDER = Path(__file__).parent

PLACE = re.compile(r"@(TITLE|KIND|POLICY|STYLE|SCRIPT|DATA)@")
"""Where the template has room for what differs."""

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""Characters that could end the data or begin a tag, as JSON writes them."""


def make_page(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    explain: Any = None,
    bands: Any = None,
    held_out: tuple[Any, Any] | None = None,
    title: str | None = None,
    data: str | None = None,
) -> str:
    """Return the report of a fitted model as HTML; `report` of the estimators writes it to a file.

    The page stands alone: it loads nothing, and its policy lets the browser run its own script and no other. What comes
    of the model, such as the names of features, is data, never markup.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y, sample_weight, explain, bands, held_out, title, data
        As of `report`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> page = make_page(LPBoostClassifier().fit(X, y), X, y)
    >>> page.count("<script"), "src=" in page
    (2, False)
    """
    check_is_fitted(model)
    content = describe_model(model, X, y, sample_weight, explain, bands, held_out, title, data)
    packed = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character, written in UNSAFE.items():
        packed = packed.replace(character, written)
    style, script = (f"\n{(FOLDER / name).read_text(encoding='utf-8')}" for name in ("page.css", "page.js"))
    policy = f"default-src 'none'; style-src {_allow(style)}; script-src {_allow(script)}"
    parts = {"TITLE": escape(content["title"]), "KIND": escape(content["kind"])}
    parts |= {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": packed}
    template = (FOLDER / "page.html").read_text(encoding="utf-8")
    return PLACE.sub(lambda place: parts[place[1]], template)


def write_page(file: Any, model: Any, *sample: Any, **options: Any) -> None:
    """Write the page of a model to a file, in UTF-8; the arguments after the model are those of `make_page`.

    Raises
    ------
    InvalidInput
        `file` cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from cvxens import LPBoostClassifier
    >>> model = LPBoostClassifier().fit(*load_iris(return_X_y=True))
    >>> with TemporaryDirectory() as folder:
    ...     write_page(f"{folder}/model.html", model)
    """
    place = storage.check_place("file", file)
    place.write_text(make_page(model, *sample, **options), encoding="utf-8", newline="\n")


def _allow(text: str) -> str:
    """Return the word of a policy that allows one text in the page: its hash."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
