"""Parts that the tests of mpirun's ranks share."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import support
from ranks_test import LONG, arrays
from support import Case

MPI = os.environ.get("MPI_MODULE", "")
DIVERGES = "{GradientDescentMomentum: {learning_rate: 1.0e+300}}"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def ranks_in(folder):
    """The ids of neon's processes that ranks of mpirun have in that folder, in the order of ranks."""
    out = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", file.read())
            if rank and os.path.samefile(f"/proc/{process}/cwd", folder):
                out.append((int(rank[1]), int(process)))
        except OSError:
            continue
    return [process for _, process in sorted(out)]


class MpiCase(Case):
    def setUp(self):
        super().setUp()
        self.environment.update(AS_ROOT)
        self.environment["TMPDIR"] = self.folder

    def mpirun(self, ranks):
        """The words before neon's that start so many ranks."""
        return "mpirun", "--oversubscribe", "-np", str(ranks)

    def train(self, spec, ranks, *options, name=None):
        """The results on stdout, and the arrays of the checkpoint."""
        name = name or f"mpi{ranks}.safetensors"
        done = self.neon("-b", "cpu", "-d", "f64", "-r", "3", "-s", name, *options, spec, under=self.mpirun(ranks))
        return done, arrays(self.path(name))

    def check_same_bits(self, got, wanted):
        self.assertEqual(set(got), set(wanted))
        for name, array in wanted.items():
            self.assertEqual(got[name].tobytes(), array.tobytes(), name)

    def fails(self, code, *arguments, says, ranks=2, **options):
        """The run must end with that code and one message of neon's, which has all of `says`."""
        result = self.neon(*arguments, code=code, under=self.mpirun(ranks), **options)
        (line,) = [line for line in result.err.splitlines() if line.startswith("neon: ")]
        for words in [says] if isinstance(says, str) else says:
            self.assertIn(words, line)
        return result

    def started(self, ranks, *options):
        command = [*self.mpirun(ranks), support.NEON, "-b", "cpu", "-r", "3", *options, self.spec(LONG)]
        child = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return self.began(child)

    def check_gone(self, ids, seconds=5):
        end = time.monotonic() + seconds
        while [each for each in ids if os.path.exists(f"/proc/{each}")] and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse([each for each in ids if os.path.exists(f"/proc/{each}")])


def main(case, problem=""):
    """Runs the tests of `case`; without Open MPI, or with another problem, all are skipped, counted and said."""
    if not MPI:
        problem = "this build of neon has no MPI"
    elif not shutil.which("mpirun"):
        problem = "there is no mpirun"
    if not problem:
        support.main()
    count = unittest.defaultTestLoader.loadTestsFromTestCase(case).countTestCases()
    print(f"{problem}\n0 passed, 0 failed, {count} skipped")
    sys.exit(77)
