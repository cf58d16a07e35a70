#!/usr/bin/python3
"""What tools/run_tests makes of a program's output: the lines are those that Catch2 2.13 prints."""
import importlib.util
import os
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

sys.dont_write_bytecode = True
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/run_tests")
SPEC = importlib.util.spec_from_loader("run_tests", SourceFileLoader("run_tests", PATH))
run_tests = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_tests)

RULE = "=" * 79 + "\n"


class Counts(unittest.TestCase):
    def entry(self, result, stdout):
        return run_tests.count({"result": result, "stdout": stdout})

    def test_catch_all_passed(self):
        self.assertEqual(self.entry("OK", RULE + "All tests passed (5 assertions in 23 test cases)\n\n"), (23, 0, 0))
        self.assertEqual(self.entry("OK", RULE + "All tests passed (1 assertion in 1 test case)\n\n"), (1, 0, 0))

    def test_catch_some_failed(self):
        out = RULE + "test cases: 12 |  9 passed |  3 failed\nassertions: 40 | 37 passed | 3 failed\n\n"
        self.assertEqual(self.entry("FAIL", out), (9, 3, 0))

    def test_catch_only_failures(self):
        out = RULE + "test cases: 1 | 1 failed\nassertions: 1 | 1 failed\n\n"
        self.assertEqual(self.entry("FAIL", out), (0, 1, 0))

    def test_catch_failed_as_expected_is_no_failure(self):
        out = RULE + "test cases: 3 | 2 passed | 1 failed as expected\nassertions: 3 | 2 passed | 1 failed as expected\n"
        self.assertEqual(self.entry("OK", out), (3, 0, 0))

    def test_catch_without_cases_is_a_failure(self):
        self.assertEqual(self.entry("OK", RULE + "No tests ran\n\n"), (0, 1, 0))

    def test_own_count(self):
        self.assertEqual(self.entry("OK", "much\n126 passed, 0 failed\n"), (126, 0, 0))
        self.assertEqual(self.entry("FAIL", "5 passed, 2 failed, 1 skipped\n"), (5, 2, 1))

    def test_last_count_counts(self):
        self.assertEqual(self.entry("OK", "9 passed, 0 failed\nand\n1 passed, 0 failed\n"), (1, 0, 0))

    def test_no_count(self):
        self.assertEqual(self.entry("OK", "14 inputs\n"), (1, 0, 0))
        self.assertEqual(self.entry("FAIL", ""), (0, 1, 0))
        self.assertEqual(self.entry("SKIP", ""), (0, 0, 1))

    def test_crash_after_passing_is_a_failure(self):
        self.assertEqual(self.entry("FAIL", RULE + "All tests passed (5 assertions in 3 test cases)\n"), (3, 1, 0))
        self.assertEqual(self.entry("TIMEOUT", "start\n"), (0, 1, 0))


class TemporaryFiles(unittest.TestCase):
    def setUp(self):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.pop("TMPDIR", None)
        self.folder = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, self.folder)

    def test_lie_in_memory_until_the_tests_are_done(self):
        run_tests.LEAST_ROOM = 0
        with run_tests.temporary_files(self.folder) as environment:
            inside = environment["TMPDIR"]
            self.assertEqual(os.path.dirname(inside), self.folder)
            with open(os.path.join(inside, "left"), "w"):
                pass
        self.assertEqual(os.listdir(self.folder), [])

    def test_lie_elsewhere_without_room_or_where_the_user_wants_them(self):
        run_tests.LEAST_ROOM = 1 << 60
        for memory in self.folder, self.folder + "/missing":
            with run_tests.temporary_files(memory) as environment:
                self.assertNotIn("TMPDIR", environment)
        run_tests.LEAST_ROOM = 0
        os.environ["TMPDIR"] = "/mine"
        with run_tests.temporary_files(self.folder) as environment:
            self.assertEqual(environment["TMPDIR"], "/mine")


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    result = program.result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(bad != 0)
