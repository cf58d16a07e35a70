#!/usr/bin/python3
"""The best net of a run: which one it is, and the file of the user's that gets it."""
import csv
import os

import support
from support import tensors


class BestNet(support.Case):
    def setUp(self):
        super().setUp()
        del self.environment["NEON_NO_RUN_FOLDER"]

    def values(self, name):
        return {name: (kind, shape, content) for name, (kind, shape, content) in tensors(self.path(name))[0].items()}

    def test_the_cost_decides_between_equal_metrics(self):
        """Test samples that the net has right long before the cost is at its lowest; also in a run that is resumed."""
        self.write("t.csv", "x,z,y\n" + "".join(f"{(-1) ** i * (1 + i % 7 / 10)},{i * 7 % 11},{'ab'[i % 2]}\n" for i in range(60)))
        spec = self.write("s.yaml", "dataset: {CSV: {path: t.csv, test: 0.2}}\nlayers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\n"
                          "cost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 16\nepochs: 30\n")
        said = [self.neon("-r", "1", spec).out]
        self.neon("-r", "1", "-e", "20", spec)
        said.append(self.neon("resume", "runs/s-2", "-e", "30").out)
        for out, run in zip(said, ("runs/s-1", "runs/s-2"), strict=True):
            with open(self.path(run + "/results.csv"), newline="") as file:
                rows = [(float(row["test_Top1Misclass"]), float(row["test_cost"]), int(row["epoch"])) for row in csv.DictReader(file)]
            self.assertEqual(len(rows), 30)
            first = next(row for row in rows if row[0] == min(rows)[0])
            self.assertLess(first[2], min(rows)[2])
            self.assertIn(f"best: {run}/best.safetensors, epoch {min(rows)[2]}, Top1Misclass {100 * min(rows)[0]:.2f} %", out)

    def test_early_stop_restores_the_lowest_cost_of_equal_metrics(self):
        """Also in a run that stops amid epochs of equal metrics; equal metrics use up the patience all the same."""
        self.write("t.csv", "x,z,y\n" + "".join(f"{(-1) ** i * (1 + i % 7 / 10)},{i * 7 % 11},{'ab'[i % 2]}\n" for i in range(60)))
        spec = self.write("s.yaml", "dataset: {CSV: {path: t.csv, test: 0.2}}\nlayers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\n"
                          "cost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 16\nepochs: 30\n"
                          "metrics: [Misclassification]\ncallbacks: [EarlyStop: {watch: Top1Misclass, patience: 99}]\n")
        said = self.neon("-r", "1", spec, "-H", "99", "-s", "all.safetensors").err
        with open(self.path("runs/s-1/results.csv"), newline="") as file:
            rows = [(float(row["test_Top1Misclass"]), float(row["test_cost"]), int(row["epoch"])) for row in csv.DictReader(file)]
        equal = [row for row in rows if row[0] == min(rows)[0]]
        best = min(rows)[2]
        self.assertGreater(best, equal[2][2], equal)
        self.assertIn(f"restored the weights of epoch {best}, the best by Top1Misclass", said)
        self.assertIn(f"(epoch {best})", next(line for line in self.neon("compare", "runs/s-1", "runs/s-1").out.splitlines() if "best test_Top1Misclass" in line))
        straight = self.values("runs/s-1/best.safetensors")
        self.neon("-r", "1", spec, "-e", str(equal[2][2]), "--set", "callbacks=[EarlyStop: {watch: Top1Misclass, patience: 99, restore_best: false}]")
        self.neon("-r", "1", spec, "-e", str(equal[2][2]))
        self.assertIn(f"restored the weights of epoch {best}", self.neon("resume", "runs/s-3", "-e", "30").err)
        weights = {name: value for name, value in self.values("runs/s-3/last.safetensors").items() if not name.startswith("callback")}
        self.assertEqual({name: straight[name] for name in weights}, weights)
        said = self.neon("-r", "1", spec, "--set", "callbacks=[EarlyStop: {watch: Top1Misclass, patience: 2}]").err
        self.assertIn("stopped early: Top1Misclass has not improved for 2 evaluations", said)

    def test_save_best_state_copies_the_best_net(self):
        """Epoch 1 is the best: the rate is far too high."""
        spec = self.spec(callbacks="[SaveBestState: {path: kept/best.prm}]", epochs=5)
        for folder in "runs/s-1", "runs/s-2":  # a newer run's takes the place
            said = self.neon("-r", folder[-1], spec, "--set", "optimizer.learning_rate=1").err
            self.assertIn(f"wrote kept/best.prm: the best net, {folder}/best.safetensors", said)
            self.assertEqual(self.values("kept/best.prm"), self.values(folder + "/best.safetensors"))
        self.assertNotEqual(self.values("kept/best.prm"), self.values("runs/s-2/last.safetensors"))
        self.neon("resume", "runs/s-2", "-e", "6")
        self.assertIn("test: ", self.neon("eval", "kept/best.prm").out)
        other = "exists and is no checkpoint; give another name, or remove it"
        foreign = "exists, and no run with this callback wrote it; give another name, remove it, or give --overwrite"
        self.neon("-s", "m.safetensors", self.spec(name="other.yaml"), environment={"NEON_NO_RUN_FOLDER": "1"})
        for name in "kept/best.prm", "hello.safetensors":
            self.write(name, "this is mine")
        os.mkdir(self.path("elsewhere"))
        os.mkdir(self.path("here"))
        os.symlink(self.path("elsewhere"), self.path("here/out"))
        for verb in [], ["check"], ["--overwrite"]:
            self.refused(3, *verb, spec, says=f"SaveBestState: path: kept/best.prm {other}")
            for path, says in ("hello.safetensors", other), ("m.safetensors", foreign):
                named = self.spec(callbacks=f"[SaveBestState: {{path: {path}}}]", name="f.yaml")
                if verb != ["--overwrite"] or says == other:
                    self.refused(3, *verb, named, says=f"path: {path} {says}")
            self.refused(2, *verb, "../f.yaml", "--set", "callbacks=[SaveBestState: {path: out/best.prm}]", cwd=self.path("here"),
                         says="leads out of the current folder")
            self.refused(2, *verb, self.spec(callbacks="[SaveBestState: {path: ./mine.out}]", name="g.yaml"), "-s", "mine.out",
                         says="path: ./mine.out is the file of -s")
        self.assertEqual(self.read("hello.safetensors"), b"this is mine")
        self.neon("f.yaml", "--overwrite")
        self.assertEqual(self.values("m.safetensors"), self.values("runs/f-1/best.safetensors"))
        self.write("kept/best.prm", "")
        self.neon(spec)
        for path in "/tmp/best.prm", "a/../../best.prm":
            self.spec(callbacks=f"[SaveBestState: {{path: {path}}}]")
            self.refused(2, "s.yaml", says=["s.yaml:9:", f"SaveBestState: path: {path} leads out of the current folder"])
        spec = self.spec(callbacks="[SaveBestState: {path: ./mine.out}]")
        for option in "-s", "-o", "--log":
            self.refused(2, spec, option, "mine.out", says=f"SaveBestState: path: ./mine.out is the file of {option}")
        self.spec(callbacks="[SaveBestStateCallback: {path: best.prm}]")
        said = self.neon("s.yaml", "--no_run_folder").err
        self.assertIn("warning: SaveBestState writes no best.prm: the best net is kept in a run's folder alone", said)
        self.assertFalse(os.path.exists(self.path("best.prm")))


if __name__ == "__main__":
    support.main()
