#!/usr/bin/python3
"""Ends a command at every one of its changes to files, and proves what is left.

    sweep.py kill|fail --preload LIBRARY --folder EMPTY_FOLDER --verify MODULE.py [--every N] [--first COMMAND]
        [--errno NUMBER] [--jobs N] [--ranks] -- COMMAND ...

The command writes into the folder ({folder} in its words) and, started again, goes on. `kill`: for every n the
command is ended by SIGKILL at its n-th change, with the change whole and half done; that the kill landed is
proved by the signal and by the line that the library wrote. Then `killed(folder, output, command)` of the
verifying module is called, the command is started again and must end with 0, and `finished(folder, command)` is
called. `fail`: for every n the n-th change fails with ENOSPC (or --errno), once and for good; the command must not
end by a signal, and `failed(folder, code, output, for_good, command)` and, after another start, `finished` are called.
With --first each case begins with that command, undisturbed: what is then ended is a restart. With --ranks the command
starts ranks, one of which writes: its launcher then ends with 1, and says that this rank was killed.

The functions raise AssertionError on anything wrong. A module may have two more: `prepare(folder, first, command)`
is called once, before anything, and makes in an empty folder what the others compare with; `restart(folder, command)`
gives the words that start the command again. The last line is "N passed, N failed".
"""
import argparse
import collections
import importlib.util
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
PROBLEMS = (AssertionError, OSError, subprocess.SubprocessError)


def load_module(path):
    spec = importlib.util.spec_from_file_location("verify", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Place:
    """A folder in which one case at a time runs."""

    def __init__(self, arguments, verify, name):
        self.root = os.path.join(os.path.realpath(arguments.folder), name)
        self.folder, self.notes = os.path.join(self.root, "files"), os.path.join(self.root, "notes")
        self.command, self.first = self.words(arguments.command), self.words(shlex.split(arguments.first))
        self.preload, self.errno, self.verify = os.path.realpath(arguments.preload), arguments.errno, verify
        self.ranks = arguments.ranks

    def words(self, words):
        return [word.replace("{folder}", self.folder) for word in words]

    def empty(self):
        for folder in (self.folder, self.notes):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        if self.first:
            subprocess.run(self.first, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)

    def run(self, words, **variables):
        environment = dict(os.environ)
        if variables:
            environment.update({name: str(value) for name, value in variables.items()})
            environment.update(LD_PRELOAD=self.preload, FAULT_PREFIX=self.folder)
        return subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120)

    def changes(self):
        """Call and path of every change that the undisturbed command makes."""
        if hasattr(self.verify, "prepare"):
            shutil.rmtree(self.root, ignore_errors=True)
            os.makedirs(self.folder)
            self.verify.prepare(self.folder, self.first, self.command)
        self.empty()
        log = os.path.join(self.notes, "log")
        result = self.run(self.command, FAULT_LOG=log)
        assert result.returncode == 0, result.stdout
        self.verify.finished(self.folder, self.command)
        with open(log) as file:
            return [line.split(" ", 2)[1:] for line in file.read().splitlines()]

    def proof(self):
        path = os.path.join(self.notes, "proof")
        if not os.path.exists(path):
            return []
        with open(path) as file:
            return file.read().splitlines()

    def restart(self):
        words = self.verify.restart(self.folder, self.command) if hasattr(self.verify, "restart") else self.command
        again = self.run(words)
        assert again.returncode == 0, f"the restart ended with {again.returncode}: {again.stdout}"
        self.verify.finished(self.folder, self.command)

    def kill(self, n, half):
        self.empty()
        result = self.run(self.command, KILL_AT=n, KILL_HALF=int(half), FAULT_PROOF=os.path.join(self.notes, "proof"))
        proof = self.proof()
        killed = result.returncode == -signal.SIGKILL
        if self.ranks:
            said = re.search(r"rank \d+ of \d+.* was killed \(SIGKILL\)", result.stdout)
            killed = result.returncode == 1 and said is not None
        assert killed, f"not killed, but ended with {result.returncode}: {result.stdout}"
        assert len(proof) == 1 and proof[0].startswith(f"{n} "), f"no proof of the kill: {proof}"
        self.verify.killed(self.folder, result.stdout, self.command)
        self.restart()

    def fail(self, n, for_good):
        self.empty()
        result = self.run(self.command, FAIL_AT=n, FAIL_COUNT=int(not for_good), FAIL_ERRNO=self.errno,
                          FAULT_PROOF=os.path.join(self.notes, "proof"))
        assert self.proof(), "the fault did not happen"
        assert result.returncode >= 0, f"ended by signal {-result.returncode}: {result.stdout}"
        self.verify.failed(self.folder, result.returncode, result.stdout, for_good, self.command)
        self.restart()


def cases_of(mode, calls, every):
    """(name, method of Place, number of the change, flag) of every case."""
    seen = collections.Counter()
    for n, (call, path) in enumerate(calls, 1):
        seen[call] += 1
        if (seen[call] - 1) % every:
            continue
        for flag in (False, True):
            if mode == "kill":
                yield f"kill {'in' if flag else 'after'} {n} ({call} {path})", Place.kill, n, flag
            else:
                yield f"{call} {n} ({path}) fails {'for good' if flag else 'once'}", Place.fail, n, flag


def run_cases(cases, places):
    """How many failed. A failure is printed when it happens."""
    free = queue.SimpleQueue()
    for place in places:
        free.put(place)

    def run(case):
        name, method, n, flag = case
        place = free.get()
        try:
            method(place, n, flag)
            return 0
        except PROBLEMS as error:
            print(f"FAILED {name}: {error!r}", flush=True)
            return 1
        finally:
            free.put(place)

    with ThreadPoolExecutor(len(places)) as pool:
        return sum(pool.map(run, cases))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["kill", "fail"])
    parser.add_argument("--preload", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--verify", required=True)
    parser.add_argument("--every", type=int, default=1, help="of each kind of change only every N-th")
    parser.add_argument("--first", default="", help="a command to begin with, in one word")
    parser.add_argument("--errno", type=int, default=28, help="of the failures; 28 is ENOSPC, 5 EIO")
    parser.add_argument("--ranks", action="store_true", help="the command starts ranks")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    verify = load_module(arguments.verify)
    places = [Place(arguments, verify, str(job)) for job in range(arguments.jobs)]
    calls = places[0].changes()
    kinds = sorted({call for call, _ in calls})
    print(f"{len(calls)} changes to files: " + ", ".join(f"{sum(c == k for c, _ in calls)} {k}" for k in kinds))
    missing = [kind for kind in getattr(verify, "EXPECTED_CALLS", []) if kind not in kinds]
    if missing:
        sys.exit(f"never called, so the interposer or the command is not what it was: {missing}")
    cases = list(cases_of(arguments.mode, calls, arguments.every))
    print(f"{len(cases) // 2} of {len(calls)} places, each in two ways", flush=True)
    failed = run_cases(cases, places)
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
