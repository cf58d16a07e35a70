#!/usr/bin/python3
"""neon plot: what it prints and writes of runs; page_test.py looks at the page in a browser."""
import base64
import csv
import io
import json
import os
import re

import h5py
import numpy as np

import support
from support import Case

HOSTILE = "</script><script>document.title='run'</script><!--\x1b[2J"


def write_run(path, curves, spec="batch_size: 4\n", steps=100, epochs=4, attributes=()):
    """A metrics file as neon lays it out, by h5py."""
    with h5py.File(path, "w") as file:
        file.attrs["status"], file.attrs["spec"] = "complete", spec
        file.attrs["seed"], file.attrs["version"] = "1", "0.1.0"
        for name, value in attributes:
            file.attrs[name] = value
        config = file.create_group("config")
        config.attrs["total_epochs"], config.attrs["total_minibatches"] = np.int64(epochs), np.int64(steps)
        ends = np.arange(1, epochs + 1, dtype="f4") * (steps // epochs)
        marks = file.create_dataset("time_markers/minibatch", data=ends)
        marks.attrs["x"] = "epoch"
        seconds = file.create_dataset("time/epoch", data=np.full(epochs, 2.0))
        seconds.attrs["x"] = "epoch"
        for name, (values, axis) in curves.items():
            data = file.create_dataset(name, data=values)
            data.attrs["x"] = axis


class Plot(Case):
    def page_data(self, name):
        page = self.read(name).decode()
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]), page

    def test_csv_has_every_point(self):
        self.spec()
        self.neon("s.yaml", "-r", "1", "-o", "run.h5", "--no_run_folder")
        rows = list(csv.DictReader(io.StringIO(self.neon("plot", "run.h5", "--csv").out)))
        with h5py.File(self.path("run.h5")) as file:
            for name in "cost/train", "cost/loss", "epoch/cost", "time/epoch", "metrics/Top1Misclass":
                mine = [row for row in rows if row["curve"] == name]
                self.assertEqual([np.asarray(row["value"], file[name].dtype) for row in mine], list(file[name][:]), name)
            marks = list(file["time_markers/minibatch"][:])
            costs = [row for row in rows if row["curve"] == "cost/train"]
            self.assertEqual([int(row["step"]) for row in costs], list(range(1, len(costs) + 1)))
            ends = [row for row in costs if int(row["step"]) in marks]
            self.assertEqual([float(row["epoch"]) for row in ends], [1, 2, 3, 4])
            np.testing.assert_allclose([float(row["seconds"]) for row in ends], np.cumsum(file["time/epoch"][:]))

    def test_text(self):
        falling = np.linspace(3, 1, 100, dtype="f4")
        write_run(self.path("a.h5"), {"cost/train": (falling, "minibatch")}, "layers: [{Affine: {nout: 4}}]\n")
        write_run(self.path("b.h5"), {"cost/train": (falling[::-1], "minibatch")}, "layers: [{Affine: {nout: 5}}]\n")
        lines = self.neon("plot", "a.h5", "b.h5").out.splitlines()
        self.assertRegex(lines[0], r"^a a: complete, .*cost/train 1$")
        begin = lines.index("cost/train, means of neighbouring points")
        drawn = [line.split("|", 1)[1] for line in lines[begin + 1:begin + 14]]
        self.assertTrue(drawn[0].startswith("a") and drawn[0].endswith("b"), drawn[0])
        self.assertTrue(drawn[-1].startswith("b") and drawn[-1].endswith("a"), drawn[-1])
        self.assertEqual([lines[begin + 1 + row].split("|")[0].strip() for row in (0, 6, 12)], ["3", "2", "1"])  # values at the edges and between
        self.assertRegex(lines[begin + 15], r"^ +0 +step 100$")
        self.assertIn("  spec layers[0].Affine.nout: a 4, b 5", lines)

    def test_a_file_without_curves(self):
        write_run(self.path("a.h5"), {}, steps=2, epochs=1)
        with h5py.File(self.path("a.h5"), "r+") as file:
            del file["time"]
        for words in ["--text"], ["--csv"], ["-o", "r.html"]:
            self.assertIn("note: a.h5 has no curves to show\n", self.neon("plot", "a.h5", *words).err)

    def test_page(self):
        values = np.float32([0.5, np.inf, 0.25, 1e-30])
        write_run(self.path("a.h5"), {"cost/train": (values, "minibatch")}, steps=4)
        self.neon("plot", "a.h5", "-o", "sub/report.html")
        data, page = self.page_data("sub/report.html")
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertEqual(data["runs"][0]["timeline"]["seconds"], [0, 2, 4, 6, 8])
        self.assertNotRegex(page.replace("https://github.com/leeoniya/uPlot", ""), r"(src|href)=[\"']?(https?:)?//|@import|url\(http")
        self.assertIn("default-src 'none'", page)
        self.assertNotIn("unsafe-inline", page)
        self.assertIn("Permission is hereby granted", page)  # the licence of the chart library

    def test_hostile_names_stay_text(self):
        write_run(self.path("a.h5"), {"cost/train": (np.float32([1, 2]), "minibatch"), "metrics/" + "<b>": (np.float32([1]), "epoch")},
                  f"note: {HOSTILE!r}\n", 2, 1, [("note", HOSTILE)])
        self.neon("plot", "a.h5", "-o", "r.html")
        data, page = self.page_data("r.html")
        self.assertIn(["run", "note", HOSTILE], data["runs"][0]["facts"])
        self.assertNotIn("<script>document", page)
        self.assertNotIn("\x1b", self.neon("plot", "a.h5").out)

    def test_a_page_replaces_only_a_page(self):
        write_run(self.path("a.h5"), {"cost/train": (np.float32([1, 2]), "minibatch")}, steps=2, epochs=1)
        self.neon("plot", "a.h5", "-o", "r.html")
        self.neon("plot", "a.h5", "-o", "r.html")
        self.write("mine.html", "<!doctype html><p>mine")
        self.refused(3, "plot", "a.h5", "-o", "mine.html", says=["mine.html exists and is no page of neon plot", "--overwrite"])
        self.assertEqual(self.read("mine.html"), b"<!doctype html><p>mine")
        self.neon("plot", "a.h5", "-o", "mine.html", "--overwrite")
        self.refused(2, "plot", "a.h5", "-o", "a.h5", says="a.h5 is a file that neon reads")
        self.write("c.h5", self.read("a.h5"))
        self.refused(3, "plot", "a.h5", "-o", "c.h5", says="c.h5 exists and is no page")

    def test_the_newest_run(self):
        self.refused(2, "plot", says="no run is named")
        self.spec()
        self.environment.pop("NEON_NO_RUN_FOLDER", None)
        self.neon("s.yaml", "-e", "1")
        result = self.neon("plot")
        self.assertIn("runs/s-1", result.err)
        self.assertRegex(result.out, r"^\* s-1: complete, epochs 1 of 1")
        self.assertEqual(self.neon("plot", "runs/s-1").out, result.out)
        os.rename(self.path("runs/s-1"), self.path("runs/s-10"))
        self.neon("s.yaml", "-e", "1", "--set", "optimizer.learning_rate=0.5")
        os.rename(self.path("runs/s-11"), self.path("runs/s-9"))
        self.neon("s.yaml", "-e", "1")
        every = self.neon("plot", "runs").out
        self.assertEqual(re.findall(r"(?m)^. (s-\d+): complete", every), ["s-9", "s-10", "s-11"])
        self.assertEqual(every, self.neon("plot", "runs/s-9", "runs/s-10", "runs/s-11").out)

    def test_a_damaged_run_among_others(self):
        self.spec()
        self.environment.pop("NEON_NO_RUN_FOLDER", None)
        for _ in range(3):
            self.neon("s.yaml", "-e", "1")
        self.write("runs/s-2/run.h5", self.read("runs/s-2/run.h5")[:1000])
        for words in ["--text"], ["--csv"], ["-o", "r.html"]:
            result = self.neon("plot", "runs", *words)
            self.assertRegex(result.err, r"(?m)^warning: runs/s-2/run.h5: .*; the run is left out$")
        self.assertEqual([run["name"] for run in self.page_data("r.html")[0]["runs"]], ["s-1", "s-3"])
        self.refused(3, "plot", "runs/s-1", "runs/s-2", says="runs/s-2/run.h5")
        for name in "s-1", "s-3":
            os.remove(self.path(f"runs/{name}/run.h5"))
        self.refused(3, "plot", "runs", says=["runs/s-2/run.h5", "no other"])

    def test_refusals(self):
        self.write("x.h5", "no HDF5")
        self.refused(3, "plot", "x.h5", says="x.h5: is no metrics file")
        self.write("m.safetensors", "")
        self.refused(3, "plot", "m.safetensors", says="m.safetensors: 0 bytes are too few for a .safetensors file")
        os.mkdir(self.path("empty"))
        self.refused(3, "plot", "empty", says="empty: no run.h5 in this folder; expected a run's folder, or a metrics file")
        self.refused(3, "plot", "y.h5", says="y.h5")
        self.refused(2, "plot", "x.h5", "--csv", "--text", says=["--csv and --text"])
        self.refused(2, "eval", "m", "--csv", says="it is for neon plot")
        self.refused(2, "plot", "x.h5", "-e", "2", says="does nothing with neon plot")
        with h5py.File(self.path("no.h5"), "w") as file:
            file["x"] = np.float32([1])
        self.refused(3, "plot", "no.h5", says=["no.h5", "not a metrics file"])

    def test_ten_long_runs_are_a_small_page(self):
        def spent(steps):
            rng, names = np.random.default_rng(1), []
            for run in range(10):
                curves = {f"cost/c{k}": (rng.random(steps, np.float32), "minibatch") for k in range(8)}
                curves["cost/c0"][0][steps * 7 // 10] = 9  # a peak of one step
                write_run(self.path(f"r{run}.h5"), curves, steps=steps)
                names.append(f"r{run}.h5")
            return self.processor_seconds("plot", *names, "-o", "r.html")
        for _ in range(3):  # other programs may disturb a try
            before, took = spent(10_000), spent(100_000)
            if took < 20 * before:
                break
        self.assertLess(took, 20 * before)  # of a processor's time, for ten times the points
        self.assertLess(os.path.getsize(self.path("r.html")), 15_000_000)
        curve = next(c for c in self.page_data("r.html")[0]["runs"][3]["curves"] if c["name"] == "cost/c0")
        values = np.frombuffer(base64.b64decode(curve["values"]), np.float32)
        steps = np.frombuffer(base64.b64decode(curve["steps"]), np.uint32)
        with h5py.File(self.path("r3.h5")) as file:
            np.testing.assert_array_equal(file["cost/c0"][:][steps - 1], values)
        self.assertEqual(steps[values.argmax()], 70_001)
        print(f"10 runs of 8 curves of 100,000 points: {took:.2f} s of a processor")


if __name__ == "__main__":
    support.main()
