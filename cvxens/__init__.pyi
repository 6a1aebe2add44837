from . import certificates as certificates
from . import colgen as colgen
from . import crosscheck as crosscheck
from . import datasets as datasets
from . import errors as errors
from . import estimators as estimators
from . import kernels as kernels
from . import plotting as plotting
from . import problems as problems
from . import solvers as solvers
from .certificates import Certificate as Certificate
from .certificates import certify as certify
from .colgen import Formulation as Formulation
from .colgen import Run as Run
from .colgen import column_generation as column_generation
from .estimators import AdaBoostClassifier as AdaBoostClassifier
from .estimators import CGEnsClassifier as CGEnsClassifier
from .estimators import CGEnsSLSClassifier as CGEnsSLSClassifier
from .estimators import ColumnGenerationClassifier as ColumnGenerationClassifier
from .estimators import LPBoostClassifier as LPBoostClassifier

__version__: str
