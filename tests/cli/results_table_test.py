#!/usr/bin/python3
"""results.csv of a run's folder, where another program has changed it."""
import csv
import shutil

import support
from support import Case


class ResultsTable(Case):
    def setUp(self):
        super().setUp()
        self.environment.pop("NEON_NO_RUN_FOLDER", None)

    def rows(self, name):
        with open(self.path(name), newline="") as file:
            return list(csv.DictReader(file))

    def test_damaged_results_are_told(self):
        self.neon("-r", "1", "-e", "3", self.spec())
        whole = self.read("runs/s-1/results.csv").decode().splitlines()
        for damage, says, kept in ((lambda rows: [*rows[:2], rows[2].replace(",", ";"), rows[3]], "results.csv:3: ", [1, 3, 4]),
                                   (lambda rows: [*rows[:2], rows[2][:-2] + "x", rows[3]], "results.csv:3: ", [1, 3, 4]),
                                   (lambda rows: [rows[0], '"' + rows[1], *rows[2:]], "results.csv:2:", [4]),
                                   (lambda rows: ["nothing"], "results.csv:1: the names of the columns are missing", [4])):
            shutil.rmtree(self.path("again"), ignore_errors=True)
            shutil.copytree(self.path("runs/s-1"), self.path("again"))
            self.write("again/results.csv", "\n".join(damage(whole)) + "\n")
            result = self.neon("resume", "again", "-e", "4")
            self.assertRegex(result.err, rf"(?m)^warning: again/{says}.*; the table goes on without the lines that are damaged$")
            self.assertEqual([int(row["epoch"]) for row in self.rows("again/results.csv")], kept)
        self.write("again/results.csv", "\n".join([*whole[:3], "x"]) + "\n")
        self.assertIn("warning: again/results.csv:4: 'x' is no number of an epoch; lines that are damaged do not count",
                      self.neon("compare", "runs/s-1", "again").err)


if __name__ == "__main__":
    support.main()
