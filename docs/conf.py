"""The site: `make docs` writes it to docs/_build/html; it is read from disk, without a network."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import jupytext
import nbformat
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import architecture  # noqa: E402
import catalogues  # noqa: E402
import checking  # noqa: E402
import mathematics  # noqa: E402
import pictures  # noqa: E402
import reference  # noqa: E402

import cvxens  # noqa: E402

project, author = "cvxens", "The cvxens developers"
release = version = cvxens.__version__
copyright = author  # noqa: A001

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_llms_txt",
]
exclude_patterns = ["_build", "know/formulations_table.md", "know/endings.md"]
# beside what is kept, what is made when the site is built and should not be among the sources
MADE = ROOT / "build" / "static"
templates_path, html_static_path = ["_templates"], ["_static", str(MADE)]
html_css_files = ["site.css"]
default_role = "py:obj"  # what docstrings have in single backticks is the name of an object
suppress_warnings = ["mystnb.unknown_mime_type", "config.cache"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "substitution"]
myst_substitutions = {"version": version}
myst_heading_anchors = 3
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters say it
autodoc_use_type_comments = False  # there are none, and it reads every source to find that out
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

WIDE = [
    "comparison",
    "estimators",
    "know/atoms",
    *(f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("[!_]*.py")),
]
"""Pages whose tables and code take the room beside them, too."""

html_theme, html_title = "pydata_sphinx_theme", "cvxens"
html_show_sourcelink = False
toc_object_entries_show_parents = "hide"
html_show_search_summary = False  # excerpts are fetched, which browsers refuse for pages that are opened as files
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE}},
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def write_switcher(home: str, file: Path) -> None:
    """Write where each version that the changelog has a chapter of is to be read, and the one in work."""
    chapters = re.findall(r"^## ([\d.]+)(?: \((\w+)\))?", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    released = [number for number, note in chapters if note != "unreleased"]
    versions = [{"name": "development", "version": "dev", "url": f"{home}/dev/"}]
    for k, number in enumerate(released):
        newest = {"preferred": True} if k == 0 else {}
        versions.append({"name": number, "version": number, "url": f"{home}/v{number}/"} | newest)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(versions, indent=1) + "\n")


# browsers read no list of versions from disk: where the site has a home, all versions share the one there
if home := os.environ.get("CVXENS_DOCS_HOME", "").rstrip("/"):
    write_switcher(home, MADE / "switcher.json")
    html_theme_options |= {
        "switcher": {
            "json_url": f"{home}/switcher.json",
            "version_match": release if os.environ.get("GITHUB_REF_TYPE") == "tag" else "dev",
        },
        "check_switcher": False,
        "navbar_end": ["version-switcher", "theme-switcher"],
    }
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "install": []}
llms_txt_summary = (
    "Ensemble learning as convex modelling: formulations in cvxpy, column generation over all hypotheses of a set, "
    "fast solvers, scikit-learn estimators, and a certificate with every answer."
)
llms_txt_uri_template = "{docname}.html"

NOTEBOOKS = HERE / "notebooks"

# kernels of notebooks say nothing of how they are connected
settings = HERE / "_build" / "ipython" / "profile_default"
settings.mkdir(parents=True, exist_ok=True)
(settings / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = str(settings.parent)


def write_notebooks(quick: bool) -> None:
    """Put the notebooks where the site finds them: as scripts to execute, or, quickly, with the outputs they have."""
    shutil.rmtree(NOTEBOOKS, ignore_errors=True)
    NOTEBOOKS.mkdir()
    for table in (ROOT / "notebooks").glob("*.tsv"):
        shutil.copy(table, NOTEBOOKS)
    for script in sorted((ROOT / "notebooks").glob("[!_]*.py")):
        target = NOTEBOOKS / f"{script.stem}.ipynb"
        if quick:
            shutil.copy(script.with_suffix(".ipynb"), target)
        else:
            nbformat.write(jupytext.read(script), target)


quick = tags.has("quick")  # noqa: F821, as Sphinx puts the tags there
nb_execution_mode = "off" if quick else "force"
write_notebooks(quick)
reference.write(HERE / "api")
catalogues.write(HERE / "know")
pictures.draw_all(HERE / "_static" / "pictures")
architecture.draw_all(HERE / "_static" / "pictures")
python = checking.write(MADE / "check", checking.fetch(ROOT / "build" / "pyodide"))


LITERAL = re.compile(r"(``.*?``|`[^`]+`_?)")
SPECIAL = re.compile(r"([|*]|(?<=\w)_(?!\w))")
ENTRY = re.compile(r"[*\w, ]+ : ")


def escape_docstring(app, what, name, obj, options, lines) -> None:
    """Take formulas in running text for what they are: as mathematics, or |w| for no substitution, w_ for no link."""
    literal_above, written = None, []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if literal_above is not None and line.strip() and indent <= literal_above:
            literal_above = None
        if literal_above is not None or line.lstrip().startswith((">>>", "...", "=", "--")) or not line.strip():
            written.append((None, line))
        elif entry := ENTRY.match(line):
            # of an entry "name : type" numpydoc reads the name
            written.append((None, entry.group() + escape(line[entry.end() :])))
        elif written and written[-1][0] == indent:
            written[-1] = (indent, f"{written[-1][1]}\n{line}")
        else:
            written.append((indent, line))
        if literal_above is None and line.rstrip().endswith("::"):
            literal_above = indent
    lines[:] = "\n".join(text if indent is None else escape(show(text)) for indent, text in written).split("\n")


def show(text: str) -> str:
    """Return running text with its formulas as mathematics, between backticks or not."""
    parts = LITERAL.split(text)
    for n, part in enumerate(parts):
        if n % 2 and part.startswith("``") and mathematics.is_literal(part.strip("`")):
            parts[n] = f":math:`{mathematics.translate(part.strip('`'))}`"
        elif n % 2 == 0:
            parts[n] = mathematics.find(part)
    return "".join(parts)


def escape(text: str) -> str:
    """Return running text without letters that would be markup."""
    return "".join(part if n % 2 else SPECIAL.sub(r"\\\1", part) for n, part in enumerate(LITERAL.split(text)))


def see_also(app, what, name, obj, options, lines) -> None:
    """End an estimator's page with those that are near to it."""
    if what == "class" and (near := reference.near(name.removeprefix("cvxens."))):
        links = ", ".join(f":py:class:`~cvxens.{other}`" for other in near)
        lines += ["", f".. seealso:: {links}; :doc:`/learn/choose`, :doc:`/estimators`", ""]


def leave_out(app, what, name, obj, skip, options) -> bool | None:
    """Leave out what estimators inherit from scikit-learn, which documents it."""
    inherited = (getattr(obj, "__module__", None) or "").startswith("sklearn") or name.endswith("_request")
    return True if inherited or name == "get_metadata_routing" else None


def name_classes(app, what, name, obj, options, signature, returned) -> tuple[str, str]:
    """Write a class among the defaults of a signature as its name."""
    return re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", signature or "") or signature, returned


def show_formula(self, node) -> None:
    """Write a formula as MathML, which browsers draw without a script."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    self.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


class PageList(SphinxDirective):
    """Cards of the notebooks, each with its first picture and its first sentence."""

    def run(self) -> list[nodes.Node]:
        """Return the cards."""
        return self.parse_text_to_nodes(catalogues.gallery(HERE / "_static" / "gallery"))


class ProofCheck(SphinxDirective):
    """The form that checks a proof in the browser, with what is said of it below, or a note that there is none."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return it in HTML."""
        self.env.note_reread()  # another build may have no Pyodide
        form = nodes.raw("", checking.show(python, static_folder(self)), format="html")
        return [form, *(self.parse_content_to_nodes() if python else [])]


class ProofFiles(SphinxDirective):
    """Links to the checker and the example of a proof."""

    def run(self) -> list[nodes.Node]:
        """Return them in HTML."""
        return [nodes.raw("", checking.list_files(static_folder(self)), format="html")]


def static_folder(directive: SphinxDirective) -> str:
    """Return the way from a page to what is beside the pages."""
    return "../" * directive.env.docname.count("/") + "_static"


def setup(app) -> None:
    """Register what is said above."""
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)
    app.connect("autodoc-process-docstring", see_also, priority=900)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-signature", name_classes)
    app.add_html_math_renderer("mathml", inline_renderers=(show_formula, None), block_renderers=(show_formula, None))
    app.add_directive("gallery", PageList)
    app.add_directive("proof-check", ProofCheck)
    app.add_directive("proof-files", ProofFiles)


html_math_renderer = "mathml"
