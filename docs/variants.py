"""Write down the formulations of tests/variants.py as variants.md beside this file: `python docs/variants.py`."""

import sys
from pathlib import Path

here = Path(__file__).parent
sys.path.insert(0, str(here.parent / "tests"))

from variants import VARIANTS, make_data  # noqa: E402

HEAD = """# Variants

{count} formulations of boosting, each in at most ten lines: what is minimised, where it is from, and the code.
Every one of them is proven over all stumps, to a certified relative gap of 1e-6, and is equal to the same problem over
all columns at once, solved in cvxpy: on small samples in the tests (`make sweep` has all), on others by
`python tests/fuzz/fuzz.py variants 1670`. This page is written by `python docs/variants.py`.

In the code `z` are margins, `f` or `F` scores, `w` or `W` weights, and `d` the data: {data}

| variant | minimise | source |
|---|---|---|
"""


def write() -> str:
    """Return the page."""
    data = " ".join((make_data.__doc__ or "").split())
    rows, codes = [], []
    for each in VARIANTS.values():
        formula = each.formula.replace("|", "\\|")
        rows.append(f"| [{each.name}](#{each.name.replace(' ', '-')}) | {formula} | {each.source} |")
        codes.append(f"## {each.name}\n\n```python\n{each.code}\n```")
    return HEAD.format(count=len(VARIANTS), data=data) + "\n".join([*rows, "", "\n\n".join(codes)]) + "\n"


if __name__ == "__main__":
    (here / "variants.md").write_text(write())
