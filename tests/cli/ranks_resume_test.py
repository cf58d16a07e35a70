#!/usr/bin/python3
"""A checkpoint says how many ranks wrote it: a run that goes on with another number reports what differs, and a stopped run
prints the command that goes on with the same."""
import json
import re
import signal

import support
from ranks_test import LONG, NUMBERS
from support import NEON, Case, tensors

SHARES = NUMBERS.replace("activation: Tanh", "batch_norm: true, activation: Tanh")


class Resume(Case):
    def notes(self, *arguments):
        return re.findall("(?m)^note: (.*(?: ranks?|batch norm)\\b.*)$", self.neon(*arguments).err)

    def train(self, spec, ranks):
        return self.notes("-b", "cpu", "-r", "3", "-m", ranks, "-e", "1", "-s", "m.safetensors", spec)

    def resume(self, ranks):
        return self.notes("resume", "-b", "cpu", "-m", ranks, "-e", "2", "m.safetensors")

    def test_other_numbers_of_ranks(self):
        shares = "batch norm takes its mean and variance from other shares of a batch, and results differ"
        bits = "results may differ in the last bits"
        for content, before, after, note in (NUMBERS, "2", "1", "2 ranks, now 1: " + bits), \
                (NUMBERS, "1", "2", "1 rank, now 2: " + bits), (SHARES, "2", "1", "2 ranks, now 1: " + shares), \
                (SHARES + "parallel: {batch_norm: all}\n", "2", "1", "2 ranks, now 1: " + bits), (SHARES, "2", "2", ""):
            self.train(self.spec(content), before)
            self.assertEqual(self.resume(after), ["the run had " + note] if note else [])
            position = json.loads(tensors(self.path("m.safetensors"))[1]["neon.position"])
            self.assertEqual(position["ranks"], int(after))

    def test_batch_norm_of_shares_is_said(self):
        note = "batch norm takes its mean and variance from each rank's share of a batch; parallel: {batch_norm: all} takes them"
        for content, ranks, said in (SHARES, "2", 1), (SHARES, "1", 0), (NUMBERS, "2", 0), \
                (SHARES + "parallel: {batch_norm: all}\n", "2", 0):
            self.assertEqual(sum(each.startswith(note) for each in self.train(self.spec(content), ranks)), said)

    def test_ranks_that_split_nothing(self):
        """The message has the words that go on without."""
        self.train(self.spec(NUMBERS.replace("nout: 8", "nout: 9"), parallel="{dense: model}"), "3")
        on = ["resume", "-b", "cpu", "-m", "2", "-e", "2", "m.safetensors"]
        said = self.refused(2, *on, says="parallel: {dense: model} splits nothing here").err
        self.neon(*on, *re.search(r"leave dense out \((--set \S+)\)", said)[1].split())

    def test_the_command_that_goes_on(self):
        child = self.began(self.start("-b", "cpu", "-r", "3", "-m", "2", "-s", "m.safetensors", self.spec(LONG)))
        child.send_signal(signal.SIGTERM)
        _, out, err = self.ended(child)
        self.assertIn(f"next: {NEON} resume -b cpu -m 2 m.safetensors\n", out, err)


if __name__ == "__main__":
    support.main()
