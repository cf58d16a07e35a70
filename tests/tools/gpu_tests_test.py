#!/usr/bin/python3
"""tools/gpu_tests adds up what its suites say, with scripts in their place."""
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/gpu_tests")
SUITES = ["tests/backends/cuda/gpu_test", "tests/backends/cuda/calls_test", "tests/array/array_gpu_test",
          "tests/models/nets_gpu_test"]
# Without a GPU each case of runs from device to device and of ranks is skipped, and so are the nets against NumPy: one,
# or as many as processes may share.
RUNS = 0
for name in "devices_test.py", "ranks_gpu_test.py":
    with open(os.path.join(os.path.dirname(TOOL), "../tests/cli", name)) as runs:
        RUNS += runs.read().count("    def test_")
SKIPPED, SKIPPED_APART = RUNS + 1, RUNS + 10


def counts(passed, failed, skipped):
    return f"{passed} passed, {failed} failed, {skipped} skipped"


class Sums(unittest.TestCase):
    def run_with(self, *endings, ninja=None, options=(), sanitizer=None):
        """The exit code and last line, where the suites end so: a script, or lines and an exit code; None is not there."""
        with tempfile.TemporaryDirectory() as build:
            scripts = {suite: ending for suite, ending in zip(SUITES, endings) if ending}
            scripts["tests/models/golden_gpu_test"] = ("0 passed, 0 failed, 0 skipped", 0)
            if ninja:
                scripts["ninja"] = ninja
            if sanitizer:
                scripts["compute-sanitizer"] = "#!/bin/sh\ntool=$2; shift 2; " + sanitizer
            scripts["neon/neon"] = ("GPU              not used: there is none", 0)
            for path, ending in scripts.items():
                path = os.path.join(build, path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(ending if isinstance(ending, str) else "#!/bin/sh\nprintf '{}\\n'\nexit {}\n".format(*ending))
                os.chmod(path, 0o755)
            # No other ninja is found there.
            done = subprocess.run([sys.executable, TOOL, *options, build], env={"PATH": build}, stdout=subprocess.PIPE, text=True)
            return done.returncode, done.stdout.splitlines()[-1]

    def test_counts_are_added(self):
        self.assertEqual(self.run_with(("much\n3 passed, 0 failed, 0 skipped", 0), ("2 passed, 0 failed, 1 skipped", 0),
                                       ("4 passed, 0 failed, 0 skipped", 0), ("1 passed, 0 failed, 0 skipped", 0)),
                         (0, counts(10, 0, 1 + SKIPPED)))

    def test_all_skipped_is_no_failure(self):
        skipped = ("no GPU\n0 passed, 0 failed, 5 skipped", 77)
        self.assertEqual(self.run_with(skipped, skipped, skipped, skipped), (0, counts(0, 0, 4 * 5 + SKIPPED)))

    def test_what_failed_or_crashed_is_a_failure(self):
        good = ("1 passed, 0 failed, 0 skipped", 0)
        self.assertEqual(self.run_with(good, ("1 passed, 2 failed, 0 skipped", 1), good, good),
                         (1, counts(4, 2, SKIPPED)))
        self.assertEqual(self.run_with(good, ("terminate called", 134), good, good), (1, counts(3, 1, SKIPPED)))
        self.assertEqual(self.run_with(good, good, ("1 passed, 0 failed, 0 skipped", 139), good),
                         (1, counts(4, 1, SKIPPED)))
        self.assertEqual(self.run_with(good, good, good), (1, counts(3, 1, SKIPPED)))  # one is not there

    def test_what_is_built_with_cuda_only_is_skipped_without(self):
        skipped = ("no GPU\n0 passed, 0 failed, 5 skipped", 77)
        for ninja in None, ("nothing to do", 0):
            self.assertEqual(self.run_with(skipped, None, skipped, skipped, ninja=ninja), (0, counts(0, 0, 3 * 5 + 1 + SKIPPED)))
        self.assertEqual(self.run_with(None, None, skipped, skipped), (1, counts(0, 1, 2 * 5 + 1 + SKIPPED)))

    def test_cases_may_be_run_by_several_processes(self):
        cases = """#!/bin/sh
case "$1" in
  --list-test-names-only) [ "$2" ] || printf 'two, and more\\nthree\\n'; printf 'one\\n0 passed, 0 failed, 0 skipped\\n'; exit 3;;
  one) case "$NEON_TEST_PART" in [1-3]/3|'') echo '1 passed, 0 failed, 0 skipped';; *) exit 1;; esac;;
  three) [ "$NEON_TEST_PART" ] || echo '1 passed, 0 failed, 0 skipped';;
  'two\\, and more') echo '0 passed, 1 failed, 0 skipped'; exit 1;;
  *) echo '20 passed, 0 failed, 0 skipped';;
esac
"""
        good = ("1 passed, 0 failed, 0 skipped", 0)
        self.assertEqual(self.run_with(cases, good, good, good), (0, counts(23, 0, SKIPPED)))
        self.assertEqual(self.run_with(cases, good, good, good, options=["-j", "3"]), (1, counts(7, 1, SKIPPED_APART)))
        skipped = ("no GPU\n0 passed, 0 failed, 5 skipped", 77)
        self.assertEqual(self.run_with(skipped, skipped, skipped, skipped, options=["-j2"]), (0, counts(0, 0, 4 * 5 + SKIPPED_APART)))

    def test_cases_under_a_sanitizer(self):
        cases = """#!/bin/sh
case "$1" in
  --list-test-names-only) [ "$2" ] || echo 'large one'; printf 'large two\\nsmall\\n0 passed, 0 failed, 0 skipped\\n';;
  *) echo '1 passed, 0 failed, 0 skipped';;
esac
"""
        race = "========= Error: Race reported between Write access at {} and Read access at {} [8 hazards]"
        found = lambda *lines: '[ "$tool" = racecheck ] && "$@"; printf "%s\\n" ' + " ".join(f"'{line}'" for line in lines)
        none, two = "========= RACECHECK SUMMARY: 0 hazards displayed", "========= RACECHECK SUMMARY: 2 hazards displayed"
        of_cublas, ours = race.format("nvjet_sm90_a()+0x10", "nvjet_sm90_a()+0x20"), race.format("sum()+0x10", "sum()+0x20")
        options = ["-j2", "--sanitizer", "racecheck"]
        self.assertEqual(self.run_with(cases, options=options, sanitizer=found(none)), (0, counts(5, 0, 0)))
        self.assertEqual(self.run_with(cases, options=[*options, "--only", "large"], sanitizer=found(none)), (0, counts(3, 0, 0)))
        self.assertEqual(self.run_with(cases, options=[*options, "--only", "huge"], sanitizer=found(none)), (1, counts(0, 1, 0)))
        self.assertEqual(self.run_with(cases, options=options, sanitizer=found(of_cublas, of_cublas, two)), (0, counts(5, 0, 0)))
        for wrong in found(of_cublas, ours, two), found(two), found("========= ERROR SUMMARY: 1 error"), '"$@"', "exit 1":
            self.assertEqual(self.run_with(cases, options=options, sanitizer=wrong), (1, counts(0, 5, 0)))

        # Without a GPU, and so maybe without the sanitizer; but what is run without it has not passed.
        self.assertEqual(self.run_with(("no GPU\n0 passed, 0 failed, 5 skipped", 77), options=options), (0, counts(0, 0, 5)))
        self.assertEqual(self.run_with(("3 passed, 0 failed, 0 skipped", 0), options=options), (1, counts(0, 3, 0)))

    def test_what_cannot_be_built_is_a_failure(self):
        self.assertEqual(self.run_with(ninja=("error: unknown target", 1)), (1, "0 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(bad != 0)
