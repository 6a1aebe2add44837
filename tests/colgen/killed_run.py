"""A run that is killed: by itself, after so many events, or by SIGKILL, after some time.

``python tests/colgen/killed_run.py TIMES`` kills so many and looks at what they resume to.
"""

import os
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from brute_force import noisy

from cvxens.colgen import Checkpoint, column_generation, formulations
from cvxens.colgen.checkpoint import read_record
from cvxens.colgen.masters import HighsMaster
from cvxens.colgen.oracles import Fourier

X, y = noisy(60, 3, seed=3)


class Killed(BaseException):
    """Ends a run without a chance to tidy up, as far as that goes within a process."""


class Events:
    """Counts what happens in a run, and kills it at a given event: before or after pricing, solving or writing."""

    def __init__(self, at=0):
        self.at, self.seen = at, count(1)

    def happened(self):
        if next(self.seen) == self.at:
            raise Killed

    def around(self, function):
        def watched(*arguments, **options):
            self.happened()
            result = function(*arguments, **options)
            self.happened()
            return result

        return watched


def oracle():
    return Fourier(X, pool=30, refine=3, columns_per_round=1, random_state=4)


def run(checkpoint=None, events=None, formulation=None, start=()):
    """LPBoost, or P4, on a heuristic pool of Fourier features, which has a generator, with HiGHS."""
    events, heuristic = events or Events(), oracle()
    heuristic._draw_blocks = events.around(heuristic._draw_blocks)

    def master(formulation, signs):
        made = HighsMaster(formulation, signs)
        made.solve, made.add = events.around(made.solve), events.around(made.add)
        return made

    chosen = formulation or formulations.soft_margin(1.0)
    return column_generation(chosen, heuristic, y, max_columns=60, master=master, start=start, checkpoint=checkpoint)


def read_rows(path):
    """The objectives in a file, by round; none where there is no file."""
    return [row[0] for row in read_record(path)["history"]] if Path(path).exists() else []


def goes_on(run, rows, whole):
    """Whether a run that was resumed after these rounds has them, and weights no worse than theirs, of its own columns.

    Up to there they are those of an uninterrupted run, which it is itself where nothing was written.
    """
    H = np.column_stack([column.hypothesis(X) for column in run.columns])
    own = run.weights.sum() + np.maximum(1 - y * (H @ run.weights), 0).sum()
    objectives = [row.objective for row in run.history]
    others = [row.objective for row in whole.history]
    n = len(rows) or len(others)
    return (
        objectives[:n] == (rows or others)
        and rows[: len(others)] == others[: len(rows)]
        and np.isclose(own, run.certificate.primal, rtol=1e-9)
        and run.certificate.primal <= min(objectives) * (1 + 1e-9)
    )


def killed_after(seconds, path):
    """Let a process write checkpoints, over and over, and die by SIGKILL so many seconds after it began."""
    child = subprocess.Popen([sys.executable, __file__, str(path), str(seconds)], stdout=subprocess.PIPE)
    with child.stdout as output:
        assert output.readline() == b"ready\n"
        assert child.wait(60) == -signal.SIGKILL


def die(path, seconds):
    run()
    os.write(1, b"ready\n")
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
    while True:
        run(Checkpoint(path, every_rounds=1))
        os.remove(path)


def kill_often(times):
    """Kill so many runs at random moments; returns how many of them did not go on from where they were."""
    random, whole, different = np.random.default_rng(), run(), 0
    with TemporaryDirectory() as folder:
        for k in range(times):
            path = Path(folder) / str(k)
            killed_after(random.uniform(0.0, 0.5), path)
            rows = read_rows(path)
            different += not goes_on(run(Checkpoint(path)), rows, whole)
    sys.stdout.write(f"{times} runs killed at random moments, {different} did not go on from where they were\n")
    return different


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(kill_often(int(sys.argv[1])) > 0)
    die(sys.argv[1], float(sys.argv[2]))
