"""Where matplotlib is not installed, everything else works, and plots say what to install."""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["matplotlib"] = None
import cvxens
from cvxens.plotting import GapDisplay, Trace
display = GapDisplay([Trace([1.0], [0.5], [0.1])])
try:
    display.plot()
except ImportError as error:
    print(error)
"""


def test_the_error_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == (
        "cvxens.plotting draws with matplotlib, which cannot be imported; install it: pip install 'cvxens[plot]'"
    )


def test_importing_the_room_loads_no_matplotlib():
    script = "import sys, cvxens.plotting; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"
