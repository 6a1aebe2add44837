"""Pictures for those who work on the library: its rooms, as their imports stand, and the way of a fit.

`python docs/architecture.py` draws both into docs/_static/pictures, as building the site does.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "cvxens"
INK, GREY = "#333333", "#8a8a8a"
GROUPS = {
    "#dbe9f6": ("certificates", "problems", "proofs", "crosscheck"),
    "#fbe3cf": ("hypotheses", "kernels", "solvers", "colgen", "trees", "effects"),
    "#d8efdb": ("estimators", "dask", "export", "report", "plotting", "cli"),
    "#eeeeee": (),
}
"""The mathematics; sets of hypotheses and what optimises over them; what people use; all that these stand on."""


def colour_of(room: str) -> str:
    """Return the colour of a room."""
    return next((colour for colour, rooms in GROUPS.items() if room in rooms), "#eeeeee")


def read_imports() -> tuple[dict[str, set[str]], dict[str, int]]:
    """Return which rooms each room imports, and its lines, as the files say."""
    imports, lines = defaultdict(set), defaultdict(int)
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if room == "__init__":
            continue
        text = path.read_text()
        lines[room] += text.count("\n")
        imports[room] |= set()
        for node in ast.walk(ast.parse(text)):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif names == ["cvxens"]:
                names = [f"cvxens.{alias.name}" for alias in node.names]
            for name in names:
                parts = name.split(".")
                if parts[0] == "cvxens" and len(parts) > 1 and parts[1] != room:
                    imports[room].add(parts[1])
    known = set(imports)
    return {room: of & known for room, of in imports.items()}, dict(lines)


def find_levels(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the rooms in rows: each is just above the highest room that it imports."""
    levels: dict[str, int] = {}

    def level(room: str) -> int:
        if room not in levels:
            levels[room] = 1 + max((level(other) for other in imports[room]), default=-1)
        return levels[room]

    for room in imports:
        level(room)
    return [sorted(room for room in levels if levels[room] == k) for k in range(max(levels.values()) + 1)]


def draw_box(axes: Axes, x: float, y: float, width: float, text: str, colour: str, height: float = 0.62) -> None:
    """Draw a box around its middle, with its text."""
    corner = (x - width / 2, y - height / 2)
    box = FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.08", fc=colour, ec=GREY, lw=0.8)
    axes.add_patch(box)
    axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=INK, linespacing=1.35)


def draw_rooms(file: Path) -> None:
    """Draw the rooms: what a room imports stands in rows below it."""
    imports, lines = read_imports()
    rows = find_levels(imports)
    figure, axes = plt.subplots(figsize=(9, 0.62 * len(rows) + 0.4), layout="constrained")
    wide = max(len(row) for row in rows)
    for k, row in enumerate(rows):
        for j, room in enumerate(row):
            x = (j - (len(row) - 1) / 2) * 1.62
            draw_box(axes, x, k, 1.5, f"{room}\n{lines[room]:,} lines", colour_of(room), 0.74)
    axes.annotate(
        "",
        (-0.81 * wide - 0.35, -0.4),
        (-0.81 * wide - 0.35, len(rows) - 0.6),
        arrowprops={"arrowstyle": "->", "color": GREY},
    )
    axes.text(
        -0.81 * wide - 0.55,
        (len(rows) - 1) / 2,
        "imports",
        rotation=90,
        ha="center",
        va="center",
        color=GREY,
        fontsize=9,
    )
    axes.set(xlim=(-0.81 * wide - 0.75, 0.81 * wide + 0.1), ylim=(-0.6, len(rows) - 0.4))
    axes.axis("off")
    figure.savefig(file, dpi=140)
    plt.close(figure)


STATIONS = (
    (0.0, 3.6, 0.62, "LPBoostClassifier\n.fit(X, y)", "#d8efdb"),
    (2.9, 3.6, 0.62, "sample\nchecked, coded", "#eeeeee"),
    (5.8, 3.6, 0.62, "Formulation\nloss, penalty", "#dbe9f6"),
    (5.8, 1.8, 2.0, "column_generation\nthe loop", "#fbe3cf"),
    (9.6, 2.4, 0.8, "oracle\nprices all hypotheses", "#fbe3cf"),
    (9.6, 1.2, 0.8, "master\nsolves over the columns", "#fbe3cf"),
    (5.8, 0.0, 0.62, "certificate\ndual <= optimum <= primal", "#dbe9f6"),
    (2.9, 1.8, 0.62, "Run\ncolumns, weights, history", "#fbe3cf"),
    (0.0, 1.8, 0.62, "fitted attributes\nweights_, certificate_", "#d8efdb"),
)
"""What a fit passes: where it stands in the picture, how high, what it is, and the colour of its room."""

WAYS = (
    (1.0, 3.6, 1.9, 3.6, "X, y"),
    (3.9, 3.6, 4.8, 3.6, "C, weights"),
    (5.8, 3.29, 5.8, 2.8, ""),
    (6.8, 2.55, 8.6, 2.55, "signed weights s"),
    (8.6, 2.2, 6.8, 2.2, "columns, edge bound"),
    (6.8, 1.4, 8.6, 1.4, "columns"),
    (8.6, 1.05, 6.8, 1.05, "w, b, multipliers u"),
    (5.65, 0.8, 5.65, 0.31, ""),
    (5.95, 0.31, 5.95, 0.8, "w, b, u, edge bound; gap"),
    (4.8, 1.8, 3.9, 1.8, "gap < tol"),
    (1.9, 1.8, 1.0, 1.8, ""),
)
"""From where to where, and with what."""


def draw_way(file: Path) -> None:
    """Draw the way of a fit, from its call to what it leaves."""
    figure, axes = plt.subplots(figsize=(11, 4.4), layout="constrained")
    for x, y, to, up, text in WAYS:
        style = {"arrowstyle": "->", "color": INK, "lw": 1.0, "shrinkA": 2, "shrinkB": 2}
        axes.annotate("", (to, up), (x, y), arrowprops=style)
        beside = {"ha": "center", "va": "bottom"} if y == up else {"ha": "left", "va": "center"}
        axes.text((x + to) / 2 + (0 if y == up else 0.1), (y + up) / 2 + 0.04, text, fontsize=8, color=GREY, **beside)
    for x, y, height, text, colour in STATIONS:
        draw_box(axes, x, y, 2.0, text, colour, height)
    axes.set(xlim=(-1.1, 10.7), ylim=(-0.45, 4.0))
    axes.axis("off")
    figure.savefig(file, dpi=140)
    plt.close(figure)


def draw_all(folder: Path) -> None:
    """Draw both pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_rooms(folder / "rooms.png")
    draw_way(folder / "way_of_a_fit.png")


if __name__ == "__main__":
    draw_all(HERE / "_static" / "pictures")
