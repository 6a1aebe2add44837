"""Small mixed tables with ties, gaps, constant and duplicated columns."""

from hypothesis import strategies as st

COLOURS = ["blue", "green", "red"]

numbers = st.one_of(st.none(), st.integers(0, 6).map(float))
colours = st.one_of(st.none(), st.sampled_from(COLOURS))


@st.composite
def problems(draw, kinds=("n", "c"), min_rows=4, max_rows=24, gaps=True):
    """Draw (rows, labels, weights, kinds): kinds says n(umeric), c(olour), or a constant 0.0 (k) of each column."""
    n = draw(st.integers(min_rows, max_rows))
    columns = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    cells = {
        "n": numbers if gaps else st.integers(0, 6).map(float),
        "c": colours if gaps else st.sampled_from(COLOURS),
        "k": st.just(0.0),
    }
    rows = draw(st.lists(st.tuples(*(cells[kind] for kind in columns)), min_size=n, max_size=n))
    labels = draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(1, 3).map(float), min_size=n, max_size=n))
    return rows, labels, weights, columns


def categories(rows, kinds):
    """Return the categories that `Table.read` finds, [] for a numeric column or one without known values."""
    return [sorted({row[j] for row in rows if row[j] is not None}) if k == "c" else [] for j, k in enumerate(kinds)]
