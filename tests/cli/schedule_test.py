#!/usr/bin/python3
"""neon schedule draws the rate and the momentum that a run would have."""
import math
import re

import support
from support import IRIS


class Schedule(support.Case):
    def drawn(self, optimizer, *options):
        return self.neon("schedule", *options, self.spec(optimizer=optimizer)).out.splitlines()

    def facts(self, line):
        return [float(number) for number in
                re.fullmatch(r".*: begins at (\S+), at most (\S+), ends at (\S+)", line).groups()]

    def columns(self, lines):
        """For each column of a chart of 13 rows the rows, counted from below, that have a mark."""
        rows = [line[12:].ljust(60) for line in lines[:13]]
        return [[12 - row for row in range(13) if rows[row][column] == "*"] for column in range(60)]

    def test_one_cycle(self):
        lines = self.drawn("{Adam: {learning_rate: 0.1, schedule: OneCycle}}", "-e", "20")
        self.assertEqual(lines[0], "20 epochs of 8 steps")  # 120 samples in batches of 16
        self.assertEqual(self.facts(lines[1]), [0.004, 0.1, 4e-7])
        self.assertEqual(lines[-1].split(), ["0", "20", "epochs"])
        self.assertEqual(len(lines), 2 + 13 + 2)
        for column, marks in enumerate(self.columns(lines[2:])):
            self.assertTrue(marks)
            step = 159 * (column + 0.5) / 60
            peak = 0.3 * 160 - 1
            rate = 0.004 + 0.096 * (1 - math.cos(math.pi * step / peak)) / 2 if step <= peak else \
                0.05 * (1 + math.cos(math.pi * (step - peak) / (159 - peak)))
            self.assertLessEqual(min(marks) - 0.6, rate / 0.1 * 12)
            self.assertGreaterEqual(max(marks) + 0.6, rate / 0.1 * 12)

    def test_momentum(self):
        lines = self.drawn("{GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.5, momentum_end: 0.75, "
                           "momentum_epochs: [0, 3]}}")
        self.assertEqual(lines[1], "learning rate: 0.1 from the first step to the last")
        self.assertTrue(lines[2].startswith("momentum: "))
        self.assertEqual(self.facts(lines[2]), [0.5, 0.75, 0.75])
        marks = self.columns(lines[3:])
        # By whole epochs: a quarter of the width each, at 0.5, 0.583, 0.667 and 0.75.
        for column, share in (2, 0.5), (20, 0.5 + 0.25 / 3), (38, 0.5 + 0.5 / 3), (57, 0.75):
            self.assertEqual(marks[column], [round(share / 0.75 * 12)])

    def test_several_optimizers_and_phases(self):
        lines = self.drawn("{MultiOptimizer: {default: {Adam: {learning_rate: 0.01}}, Bias: {Adam: {learning_rate: 0.5}}}}")
        self.assertEqual([line for line in lines if not line.startswith("4 epochs")],
                         ["default", "learning rate: 0.01 from the first step to the last", "", "Bias",
                          "learning rate: 0.5 from the first step to the last"])
        phases = "[{name: first, epochs: 3, optimizer: {Adam: {learning_rate: 0.25}}}, {name: second, epochs: 2}]"
        spec = self.spec(IRIS.replace("epochs: 4\n", ""), phases=phases, optimizer="{Adam: {learning_rate: 0.125}}")
        self.assertEqual(self.neon("schedule", spec).out.splitlines(),
                         ["first", "3 epochs of 8 steps", "learning rate: 0.25 from the first step to the last", "",
                          "second", "2 epochs of 8 steps", "learning rate: 0.125 from the first step to the last"])

    def test_it_draws_what_a_run_had(self):
        import h5py
        spec = self.spec(optimizer="{Adam: {learning_rate: 0.1, schedule: {CosineRestarts: {period: 3, factor: 2}}}}", epochs=12)
        self.neon("-o", "r.h5", spec)
        with h5py.File(self.path("r.h5")) as file:
            rates = file["epoch/learning_rate"][:]
        marks = self.columns(self.neon("schedule", spec).out.splitlines()[2:])
        for epoch, rate in enumerate(rates, 1):  # of the last step of the epoch
            column = int(60 * (8 * epoch - 1) / 95.0001)
            self.assertTrue(any(abs(rate / 0.1 * 12 - mark) <= 0.6 for mark in marks[min(column, 59)]), (epoch, rate))

    def test_without_the_data(self):
        result = self.neon("schedule", self.spec(dataset="{CSV: {path: none.csv}}"))
        self.assertIn("note: the data are not here, so an epoch is drawn with 100 steps\n", result.err)
        self.assertEqual(result.out.splitlines()[0], "4 epochs of 100 steps")


if __name__ == "__main__":
    support.main()
