#!/usr/bin/python3
"""Ends a command at every one of its changes to files, and proves what is left.

    sweep.py kill|fail --preload LIBRARY --folder EMPTY_FOLDER --verify MODULE.py [--every N] [--first COMMAND]
        -- COMMAND ...

The command writes into the folder ({folder} in its words) and, started again, goes on. `kill`: for every n the
command is ended by SIGKILL at its n-th change, with the change whole and half done; that the kill landed is
proved by the signal and by the line that the library wrote. Then `killed(folder, output, command)` of the
verifying module is called, the command is started again and must end with 0, and `finished(folder, command)` is
called. `fail`: for every n the n-th change fails with ENOSPC, once and for good; the command must not end by a
signal, and `failed(folder, code, output, for_good, command)` and, after another start, `finished` are called.
With --first each case begins with that command, undisturbed: what is then ended is a restart. The functions raise AssertionError on anything wrong. The last line is "N passed, N failed".
"""
import argparse
import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys


def load_module(path):
    spec = importlib.util.spec_from_file_location("verify", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Sweep:
    def __init__(self, arguments):
        self.folder = os.path.join(os.path.realpath(arguments.folder), "files")
        self.notes = os.path.join(os.path.realpath(arguments.folder), "notes")
        self.command = [word.replace("{folder}", self.folder) for word in arguments.command]
        self.first = [word.replace("{folder}", self.folder) for word in shlex.split(arguments.first)]
        self.preload = os.path.realpath(arguments.preload)
        self.passed = self.failed = 0

    def empty(self):
        for folder in (self.folder, self.notes):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        if self.first:
            subprocess.run(self.first, check=True, stdout=subprocess.DEVNULL)

    def run(self, **variables):
        environment = dict(os.environ)
        if variables:
            environment.update({name: str(value) for name, value in variables.items()})
            environment.update(LD_PRELOAD=self.preload, FAULT_PREFIX=self.folder)
        return subprocess.run(self.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120)

    def count(self):
        self.empty()
        log = os.path.join(self.notes, "log")
        result = self.run(FAULT_LOG=log)
        assert result.returncode == 0, result.stdout
        with open(log) as file:
            return [line.split(" ", 2)[1:] for line in file.read().splitlines()]

    def proof(self):
        path = os.path.join(self.notes, "proof")
        if not os.path.exists(path):
            return []
        with open(path) as file:
            return file.read().splitlines()

    def case(self, name, body):
        self.empty()
        try:
            body()
            self.passed += 1
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            self.failed += 1
            print(f"FAILED {name}: {error!r}", flush=True)

    def restart(self, verify):
        again = self.run()
        assert again.returncode == 0, f"the restart ended with {again.returncode}: {again.stdout}"
        verify.finished(self.folder, self.command)

    def kill(self, verify, n, half):
        result = self.run(KILL_AT=n, KILL_HALF=int(half), FAULT_PROOF=os.path.join(self.notes, "proof"))
        proof = self.proof()
        assert result.returncode == -signal.SIGKILL, f"not killed, but ended with {result.returncode}: {result.stdout}"
        assert len(proof) == 1 and proof[0].startswith(f"{n} "), f"no proof of the kill: {proof}"
        verify.killed(self.folder, result.stdout, self.command)
        self.restart(verify)

    def fail(self, verify, n, for_good):
        result = self.run(FAIL_AT=n, FAIL_COUNT=int(not for_good), FAULT_PROOF=os.path.join(self.notes, "proof"))
        assert self.proof(), "the fault did not happen"
        assert result.returncode >= 0, f"ended by signal {-result.returncode}: {result.stdout}"
        verify.failed(self.folder, result.returncode, result.stdout, for_good, self.command)
        self.restart(verify)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["kill", "fail"])
    parser.add_argument("--preload", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--verify", required=True)
    parser.add_argument("--every", type=int, default=1, help="only every N-th change")
    parser.add_argument("--first", default="", help="a command to begin with, in one word")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    sweep, verify = Sweep(arguments), load_module(arguments.verify)
    calls = sweep.count()
    verify.finished(sweep.folder, sweep.command)
    kinds = sorted({call for call, _ in calls})
    print(f"{len(calls)} changes to files: " + ", ".join(f"{sum(c == k for c, _ in calls)} {k}" for k in kinds))
    missing = [kind for kind in getattr(verify, "EXPECTED_CALLS", []) if kind not in kinds]
    if missing:
        sys.exit(f"never called, so the interposer or the command is not what it was: {missing}")
    for n in range(1, len(calls) + 1, arguments.every):
        call, path = calls[n - 1]
        for flag in (False, True):
            if arguments.mode == "kill":
                name = f"kill {'in' if flag else 'after'} {n} ({call} {path})"
                sweep.case(name, lambda: sweep.kill(verify, n, flag))
            else:
                name = f"{call} {n} ({path}) fails {'for good' if flag else 'once'}"
                sweep.case(name, lambda: sweep.fail(verify, n, flag))
    print(f"{sweep.passed} passed, {sweep.failed} failed")
    sys.exit(sweep.failed != 0)


if __name__ == "__main__":
    main()
