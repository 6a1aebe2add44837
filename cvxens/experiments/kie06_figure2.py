"""KIE06 Figure 2: boundaries on the slope data."""

from cvxens.experiments import drawing, kie06
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import BoundaryOf

TABLE = Experiment(
    paper="kie06",
    table="figure2",
    title="the slope data and the boundaries of the methods of Table 1",
    protocol="""
50 samples, one label in ten wrong; parameters as in Table 1. The best boundary is the falling diagonal.
""",
    rows={"slope": kie06.SLOPE},
    columns={name: BoundaryOf(method.estimator) for name, method in kie06.METHODS.items()},
    other_data={"slope": kie06.SLOPE_NOTE},
    draw=drawing.draw_boundaries,
)
