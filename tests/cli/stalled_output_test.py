#!/usr/bin/python3
"""A run whose output nobody reads still ends by a signal and is saved: that of one process, and that of several ranks."""
import fcntl
import os
import signal
import subprocess
import time

import support
from ranks_test import LONG
from support import NEON, Case

BRIEF = LONG.replace("ntrain: 800, ntest: 40", "ntrain: 8, ntest: 4")  # epochs, and so a line for each


def wait_until_still(path, seconds=10):
    """Until the pipe's writer has written nothing for some time, and something before."""
    end, before = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(0.2)
        now = int.from_bytes(fcntl.ioctl(path, 0x541B, bytes(4)), "little")  # FIONREAD
        if now == before > 0:
            return
        before = now
    raise AssertionError("there is no end of what is written")


class StalledOutput(Case):
    def test_a_signal_to_a_run_whose_reader_takes_nothing(self):
        for ranks in "1", "2":
            reads, writes = os.pipe()
            self.addCleanup(os.close, reads)
            fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
            child = subprocess.Popen([NEON, "-b", "cpu", "-r", "3", "-m", ranks, "-s", "m.safetensors", "--serialize", "1000000", self.spec(BRIEF)],
                                     cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=writes, stderr=writes)
            self.addCleanup(child.kill)
            os.close(writes)
            wait_until_still(reads)
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(timeout=5), 128 + signal.SIGTERM)
            self.neon("eval", "-b", "cpu", "m.safetensors")


if __name__ == "__main__":
    support.main()
