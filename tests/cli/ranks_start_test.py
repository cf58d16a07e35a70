#!/usr/bin/python3
"""Ranks that die before the first step end the run."""
import os
import signal
import time

import support
from ranks_test import LONG, children
from support import Case


def is_rank(process):
    """Whether it has become a process of its own; until then whoever starts it waits for that."""
    with open(f"/proc/{process}/environ", "rb") as file:
        return b"NEON_RANK=" in file.read()


class StartOfRanks(Case):
    def stopped_at_the_start(self, rank, environment):
        """A run of two ranks, one of which was stopped before it did anything."""
        child = self.start("-b", "cpu", "-r", "3", "-m", "2", self.spec(LONG), environment=environment)
        self.addCleanup(child.kill)
        end = time.monotonic() + 10
        while len(ids := children(child.pid)) < 2 or not is_rank(ids[1]):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        os.kill(ids[rank], signal.SIGSTOP)
        return child, ids

    def test_a_rank_that_is_killed_before_the_first_step_is_named(self):
        for rank in 0, 1:
            child, ids = self.stopped_at_the_start(rank, {})
            os.kill(ids[rank], signal.SIGKILL)
            code, _, err = self.ended(child)
            self.assertEqual(code, 1)
            self.assertIn(f"neon: rank {rank} of 2 ({os.uname().nodename}, CPU) was killed (SIGKILL), by somebody or for "
                          "want of memory\n", err)


if __name__ == "__main__":
    support.main()
