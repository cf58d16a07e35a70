#!/usr/bin/python3
"""neon program -m and --devices: the exchanges of a step, and the step on devices that are not there."""
import re

import support
from support import Case

ROW = re.compile(r"(?m)^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+)$")


class Simulation(Case):
    def rows(self, *arguments):
        said = self.neon("program", "-b", "cpu", *arguments).out
        return [[float(cell) for cell in row] for row in ROW.findall(said)], said

    def parameters(self, spec):
        return int(re.search(r"(\d+) parameters", self.neon("check", spec).out)[1])

    def test_m_lists_the_exchanges_with_their_bytes(self):
        spec = self.spec()
        said = self.neon("program", "-b", "cpu", "-m", "2", "-d", "f64", spec, "--link", "0.001", "--latency", "7").out
        found = re.findall(r"(?m)^exchange of kernel (\d+): (\d+ arrays?), (\d+) B, ([\d.]+) ms$", said)
        # The gradients of all parameters, and the cost, in one exchange.
        size = 8 * (self.parameters(spec) + 1)
        self.assertEqual([int(each[2]) for each in found], [size])
        # Of two ranks each sends its bytes once: at 1 MB/s, and 7 us besides.
        self.assertAlmostEqual(float(found[0][3]), size * 1e-3 + 0.007, places=4)
        self.assertRegex(said, rf"(?m)^ *{found[0][0]}  exchange")

    def test_devices_share_the_batch_or_have_one_each(self):
        spec = self.spec()
        shared, said = self.rows(spec, "--devices", "2,4", "--latency", "0", "--link", "1e6")
        self.assertEqual([row[:2] for row in shared], [[1, 16], [2, 16], [4, 16]])
        each, said = self.rows(spec, "--devices", "2,16,64", "--each", "--latency", "0", "--link", "1e6",
                               "--network", "1e6", "--network_latency", "1000")
        self.assertEqual([row[:2] for row in each], [[1, 16], [2, 32], [16, 256], [64, 1024]])
        # Messages between hosts: 2 log2(2), and 2 log2(8) of 1 ms; the program is that of two.
        of_two, of_16, of_64 = (row[2] for row in each[1:])
        self.assertAlmostEqual(of_16 - of_two, 2, places=3)
        self.assertAlmostEqual(of_64 - of_two, 6, places=3)
        self.assertAlmostEqual(each[2][4], 2, places=3)  # waited for
        for devices, batch, milliseconds, _, _, rate, share in each:
            self.assertLess(abs(rate / (batch / milliseconds * 1e3) - 1), 0.01)
            self.assertLess(abs(share - rate / (devices * each[0][5])), 0.01)
        self.assertIn("exchange of kernel", said)
        self.assertIn("links of 1 GB/s and 100 us in hosts of 8 devices, of 50 GB/s and 10 us between hosts",
                      self.rows(spec, "--devices", "2", "--link", "1", "--latency", "100")[1])

    def test_a_step_is_the_mean_of_those_for_one_update(self):
        """With slow messages a step takes their time: the one of the cost in every step, that of the gradients once."""
        said = [self.rows(self.spec(accumulate=n), "--devices", "2", "--latency", "1e6", "--link", "1e6") for n in (1, 2, 4)]
        (_, alone), (_, of_two), (_, of_four) = (rows for rows, _ in said)
        self.assertAlmostEqual(alone[2], 1000, delta=20)
        self.assertAlmostEqual(of_two[2], 1500, delta=20)
        self.assertAlmostEqual(of_four[2], 1250, delta=20)
        self.assertNotIn("in a step that updates", said[0][1])
        self.assertIn("on 2 devices, in a step that updates:", said[1][1])

    def test_messages_of_the_step_are_printed_once(self):
        phases = "phases: [{name: head, epochs: 1, freeze: Affine_0}, {name: all, epochs: 1}]"
        said = self.neon("program", "-b", "cpu", "--devices", "1,2,4", self.spec(support.IRIS.replace("epochs: 4", phases)))
        self.assertEqual(said.err.count("phase head: "), 1, said.err)

    def test_what_cannot_be_is_refused(self):
        spec = self.spec()
        for arguments, words in (
                (["--devices", "2,x"], "--devices takes numbers of devices up to 1048576, as 2,8,64, and not '2,x'"),
                (["--devices", "0"], "and not '0'"), (["--devices", "9999999"], "up to 1048576, as 2,8,64, and not '9999999'"), (["--devices", ""], "value is empty|takes numbers of devices"),
                (["--devices", "17"], "a batch of 16 has no sample for each of 17 devices; --each"),
                (["--devices", "2", "-m", "3"], "leave out -m 3"), (["--each"], "--each goes with --devices"), (["--slowdown", "2"], "--slowdown goes with --devices"),
                (["--link", "3"], "mean nothing on one device; add --devices or -m"),
                (["--devices", "2", "--link", "0"], "link")):
            done = self.neon("program", "-b", "cpu", spec, *arguments, code=2)
            self.assertRegex(done.err, words)
        self.refused(2, "program", "--gpus", "3", "--devices", "2", spec, says="than this one; leave out --gpus 3")

    def test_devices_share_no_weights_of_a_rule(self):
        """Of the only phase, or of one before the last."""
        rule = "{ContrastiveDivergence: {k: 1}}"
        layers = "[RBM: {nout: 5, init: {Gaussian: {scale: 0.01}}}]"
        data = "dataset: {UniformRandom: {ntrain: 32, ntest: 0, nin: 6, nout: 3}}\nbatch_size: 8\n"
        optimizer = "optimizer: {GradientDescentMomentum: {learning_rate: 0.05}}\n"
        alone = self.write("alone.yaml", f"{data}{optimizer}layers: {layers}\nrule: {rule}\nepochs: 1\n")
        phases = self.write("phases.yaml", f"{data}{optimizer}phases:\n"
                            f"  - {{name: first, epochs: 1, layers: {layers}, rule: {rule}}}\n"
                            "  - {name: second, epochs: 1}\n"
                            "layers:\n  - RBM: {nout: 5, init: {Gaussian: {scale: 0.01}}}\n"
                            "  - Affine: {nout: 3, init: Kaiming, activation: Softmax}\ncost: CrossEntropyMulti\n")
        for spec in alone, phases:
            for verb in ["check", "-m", "2"], ["program", "-m", "2"], ["program", "--devices", "2"]:
                self.neon(*verb, "-b", "cpu", spec)
            for keys in "dense: model", "embedding: model", "optimizer: sharded":
                self.neon("check", "-b", "cpu", "--set", f"parallel={{{keys}}}", spec)  # one device ignores them
                for verb in ["check", "-m", "2"], ["program", "-m", "2"], ["program", "--devices", "2"], ["-m", "2"]:
                    done = self.refused(2, *verb, "-b", "cpu", "--set", f"parallel={{{keys}}}", spec,
                                        says=" trains by a rule; leave dense, embedding and optimizer out")
                    self.assertEqual(done.out, "")


if __name__ == "__main__":
    support.main()
