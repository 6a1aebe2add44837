"""Execute notebooks: ``python -m notebooks [NAME ...]`` writes the .ipynb beside the scripts, ``--check`` does not."""

from __future__ import annotations

import time
from pathlib import Path

import click
import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
SECONDS_A_CELL = 300


def executed(script: Path) -> nbformat.NotebookNode:
    """Run a percent script as a notebook, top to bottom; the first error ends it."""
    notebook = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute(cwd=str(HERE))
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def warned(notebook: nbformat.NotebookNode) -> str:
    """What its cells wrote to stderr."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output.text for output in outputs if output.get("name") == "stderr")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--check", is_flag=True, help="Write nothing.")
def main(names: tuple[str, ...], check: bool) -> None:
    """Execute the notebooks NAMES, by default all; fail where one raises an error or warns."""
    for name in names or NAMES:
        start = time.perf_counter()
        script = HERE / f"{name}.py"
        try:
            notebook = executed(script)
        except CellExecutionError as error:
            raise click.ClickException(f"{name} failed: {click.unstyle(str(error))}") from None
        if warnings := warned(notebook):
            raise click.ClickException(f"{name} warned: {warnings}")
        if not check:
            nbformat.write(notebook, script.with_suffix(".ipynb"))
        click.echo(f"{name}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
