"""What is handed on: a source distribution with its tests, and a description that shows where it is read."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "cvxens", "docs", "notebooks", "paper", "stubs", "tests", "recipe", ".ci", ".github")
PINS = ("constraints.txt", "constraints-oldest.txt")
OTHERS = "CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE MANIFEST.in Makefile README.md SECURITY.md"
FILES = (*OTHERS.split(), *PINS)
CACHES = re.compile(r"(^|/)(_build|__pycache__|\.ipynb_checkpoints|\.hypothesis|\.pytest_cache)/|\.(py[cod]|nb[ic])$")


@pytest.fixture(scope="module")
def information(tmp_path_factory):
    """The list of files and the metadata that setuptools makes; nothing is built."""
    folder = tmp_path_factory.mktemp("egg")
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (made,) = folder.iterdir()
    return set((made / "SOURCES.txt").read_text().splitlines()), (made / "PKG-INFO").read_text()


def test_the_source_distribution_is_whole(information):
    files, _ = information
    there = [path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    wanted = {str(path) for path in there if not CACHES.search(path.as_posix())} | set(FILES)
    assert len(wanted) > 300
    assert wanted - files == set()
    assert {name for name in files if CACHES.search(Path(name).as_posix())} == set()


def test_the_description_leads_nowhere_that_is_not_there(information):
    _, metadata = information
    text = metadata.partition("\n\n")[2]
    assert "Ensemble learning as convex modelling" in text
    assert "```python" in text
    assert "![" not in text
    assert "docs/convergence.py" not in text
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert links
    assert all(link.startswith("https://") for link in links)


def test_what_installing_gives_is_in_the_readme():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    readme = (ROOT / "README.md").read_text()
    assert [extra for extra in extras if f"`{extra}`" not in readme] == []


def test_the_recipe_and_the_citation_are_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "recipe" / "meta.yaml").read_text().partition("  run:")[2].partition("test:")[0]
    # of cvxpy the part without other people's solvers; ecos is for Pythons whose wheels are built nowhere else
    found = {line.strip(" -").replace("cvxpy-base", "cvxpy") for line in recipe.splitlines() if line.strip()}
    wanted = [each.replace(">=", " >=") for each in project["dependencies"] if ";" not in each]
    assert found == {*wanted, f"python {project['requires-python']}"}
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_oldest_versions_are_the_lower_bounds():
    """What `make test-oldest` installs is what pyproject.toml allows at least."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["core-test"]
    lowest = dict(re.match(r"([\w-]+)>=([\w.]+)", one).groups() for one in wanted)
    pins = dict(re.match(r"([\w-]+)==([\w.]+)", line).groups() for line in (ROOT / PINS[1]).read_text().splitlines())

    def parts(version):
        return [int(part) for part in version.split(".")]

    # of 1.6 it is 1.6.0, or the first that there is beside the others
    others = {name for name, least in lowest.items() if parts(pins[name])[: len(parts(least))] != parts(least)}
    assert others == set()
