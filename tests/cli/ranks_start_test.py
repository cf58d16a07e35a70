#!/usr/bin/python3
"""Ranks that hang or die before the first step end the run, and so does a signal; one right before it saves once."""
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


def takes_signals(process):
    """Whether the process has a handler of SIGINT."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        (caught,) = [int(line.split()[1], 16) for line in file if line.startswith("SigCgt:")]
    return bool(caught >> (signal.SIGINT - 1) & 1)


# Ranks make a large metrics file once they take signals, so the first step comes some tenths of a second later.
SLOW_START = LONG.replace("epochs: 1000000", "epochs: 20000") + "callbacks: [Hist: {tensors: [W, dW]}]\n"


class StartOfRanks(Case):
    def stopped_at_the_start(self, rank, environment, ranks=2):
        """A run of two ranks, one of which was stopped before it did anything; of more, all from that one on."""
        child = self.start("-b", "cpu", "-r", "3", "-m", str(ranks), self.spec(LONG), environment=environment)
        self.addCleanup(child.kill)
        end = time.monotonic() + 10
        while len(ids := children(child.pid)) < ranks or not is_rank(ids[-1]):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        for each in ids[rank:] if ranks > 2 else [ids[rank]]:
            os.kill(each, signal.SIGSTOP)
        return child, ids

    def test_a_rank_that_hangs_before_the_first_step_ends_all(self):
        for rank in 0, 1:
            child, _ = self.stopped_at_the_start(rank, {"NEON_START_SECONDS": "3"})
            code, _, err = self.ended(child, seconds=12)
            self.assertEqual(code, 1)
            self.assertIn(f"neon: rank {rank} of 2", err)
            self.assertIn("has not answered for 3 seconds", err)

    def test_the_time_for_which_all_were_stopped_counts_for_no_rank(self):
        """As by Ctrl-Z: whoever watches goes on before the rank that the others wait for."""
        child, ids = self.stopped_at_the_start(1, {"NEON_START_SECONDS": "3"})
        time.sleep(1)
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(child.pid, signal.SIGCONT)
        time.sleep(0.5)
        os.kill(ids[1], signal.SIGCONT)
        self.began(child).send_signal(signal.SIGTERM)
        self.assertEqual(self.ended(child)[0], 128 + signal.SIGTERM)

    def test_two_ranks_that_hang_end_at_once(self):
        """The second would have 5 seconds more to end by itself."""
        child, ids = self.stopped_at_the_start(1, {"NEON_START_SECONDS": "2"}, ranks=3)
        code, _, err = self.ended(child, seconds=6)
        self.assertEqual(code, 1)
        self.assertRegex(err, r"neon: rank [12] of 3 \(.*\) has not answered for 2 seconds")
        self.assertFalse([each for each in ids if os.path.exists(f"/proc/{each}")])

    def test_a_limit_that_is_no_number_is_refused(self):
        for value in "", "soon", "5x", "0", "-1", "nan":
            for name in "NEON_START_SECONDS", "NEON_ALONE_SECONDS":
                self.refused(2, "-b", "cpu", "-m", "2", self.spec(LONG), environment={name: value},
                             says=f"{name} is '{value}', expected seconds above 0")

    def test_a_signal_before_the_first_step_ends_all_at_once(self):
        child, ids = self.stopped_at_the_start(1, {})
        time.sleep(0.5)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.ended(child, seconds=3)[0], 128 + signal.SIGTERM)
        self.assertFalse([each for each in ids if os.path.exists(f"/proc/{each}")])

    def interrupted(self, wait):
        """Ctrl-C in a terminal, whose processes all get the signal, when wait() returns; the run's exit code and words."""
        child = self.start("-b", "cpu", "-r", "3", "-m", "2", "-s", "m.safetensors", "-o", "m.h5", "--overwrite", self.spec(SLOW_START),
                           start_new_session=True)
        self.addCleanup(child.kill)
        ids = []
        while len(ids) < 2 or not is_rank(ids[-1]):
            ids = children(child.pid)
        wait(ids)
        os.killpg(child.pid, signal.SIGINT)
        code, _, err = self.ended(child, seconds=10)
        self.assertFalse([each for each in ids if os.path.exists(f"/proc/{each}")])
        return code, err

    def test_ctrl_c_right_before_the_first_step_saves_once(self):
        def until_both_take_signals(ids):
            while not all(map(takes_signals, ids)):
                time.sleep(0.001)
        code, err = self.interrupted(until_both_take_signals)
        self.assertEqual((code, [line for line in err.splitlines() if line.startswith("neon: ")]), (128 + signal.SIGINT, []))
        self.neon("eval", "-b", "cpu", "m.safetensors")

    def test_ctrl_c_at_any_time_of_the_start_ends_all(self):
        """One rank may be ready to take signals before the other."""
        for k in range(16):
            code, err = self.interrupted(lambda ids: time.sleep(0.015 * k))
            self.assertEqual((code, [line for line in err.splitlines() if line.startswith("neon: ")]),
                             (128 + signal.SIGINT, []), k)

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
