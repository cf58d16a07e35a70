#!/usr/bin/python3
"""Files that a run cannot write or read again: outputs in the wrong place, damaged and foreign checkpoints."""
import json
import os
import signal
import stat
import struct
import time

import h5py
import numpy as np

import support
from support import IRIS, MNIST, Case, png, write_mnist


class Outputs(Case):
    def test_unwritable_checkpoint(self):
        self.write("file", "")
        self.refused(1, "-s", "file/m.safetensors", self.spec(), says=["cannot write in file", "not a folder"])
        os.mkdir(self.path("folder"))
        self.refused(1, "-s", "folder", self.spec(), says="folder")
        self.refused(1, "-s", "/proc/none/m.safetensors", self.spec(), says="/proc/none")

    def test_unwritable_metrics(self):
        self.refused(1, "-o", "/proc/none/run.h5", self.spec(), says="cannot make the folder /proc/none")
        self.write("notes.txt", "mine")
        result = self.refused(3, "-o", "notes.txt", self.spec(), says="notes.txt")
        self.assertNotIn("epoch 1", result.err, "said before the first step")
        self.assertEqual(self.read("notes.txt"), b"mine")

    def test_a_file_that_is_no_checkpoint_is_not_lost(self):
        self.write("m.safetensors", "my diary")
        self.neon("-s", "m.safetensors", self.spec())
        kept = [name for name in os.listdir(self.folder) if self.read_if_file(name) == b"my diary"]
        self.assertEqual(len(kept), 1, os.listdir(self.folder))

    def test_a_checkpoint_of_another_program_is_not_replaced(self):
        header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        self.write("theirs.safetensors", struct.pack("<Q", len(header)) + header + b"\0\0\x80?")
        self.write("diary", "my diary")
        before = {name: self.read(name) for name in ("theirs.safetensors", "diary")}
        for options in ["-s", "theirs.safetensors"], ["-s", "diary"], ["-o", "diary"], ["-l", "diary"], ["check", "-o", "diary"], \
                ["check", "-s", "theirs.safetensors"]:
            self.refused(3, *options, self.spec(), says=[options[-1], "remove it" if options == ["-s", "diary"] else "--overwrite"])
            self.assertEqual({name: self.read(name) for name in before}, before)
        # Not before the run is sure to begin.
        self.refused(2, "--overwrite", "-o", "diary", "-z", "1000", self.spec(), says="larger than the training set")
        self.assertEqual(self.read("diary"), b"my diary")
        self.neon("--overwrite", "-e", "1", "-s", "theirs.safetensors", "-o", "diary", "-l", "log", self.spec())
        with h5py.File(self.path("diary")) as file:
            self.assertEqual(file.attrs["status"], "complete")
        self.neon("resume", "-e", "2", "theirs.safetensors")

    def test_overwrite_replaces_no_file_without_weights(self):
        """The first bytes of a photo and of specs, one of which has the { of a header in its place, and of a short text."""
        contents = {"photo.jpg": bytes.fromhex("ffd8ffe000104a46494600010100"), "net.yaml": "dataset: Iris\n", "layers.yaml": "- Conv: {fshape: 3}\n",
                    "word": "hi"}
        for name, content in contents.items():
            self.write(name, content)
        before = {name: self.read(name) for name in contents}
        for name in contents:
            for verb in [], ["check"]:
                said = self.refused(3, *verb, "--overwrite", "-s", name, self.spec(), says=f"-s {name} exists and is no checkpoint; give another name, or remove it")
                self.assertEqual(said.err.count("\n"), 1, said.err)
        self.assertEqual({name: self.read(name) for name in contents}, before)
        self.write("empty", "")
        self.neon("-s", "empty", self.spec())
        self.neon("resume", "-e", "2", "empty")

    def test_overwrite_replaces_no_data_of_the_run(self):
        rows = "a,b,c\n" + "".join(f"{i % 7},{i % 5},{'xy'[i % 2]}\n" for i in range(40))
        for name in "sets/t.csv", "sets/v.csv", "photos/x/1.png", "photos/x/2.png", "photos/y/1.png", "photos/y/2.png":
            self.write(name, rows if name.endswith(".csv") else png(np.full((4, 4, 3), len(name), np.uint8)))
        net = IRIS.replace("nout: 3", "nout: 2").replace("epochs: 4", "epochs: 1")
        table = self.write("sets/t.yaml", net.replace("dataset: Iris", "dataset: {CSV: {path: t.csv, test: v.csv}}"))
        photos = self.write("p.yaml", net.replace("dataset: Iris", "dataset: {ImageFolder: {path: photos, test: none}}").replace("batch_size: 16", "batch_size: 4"))
        before = {name: self.read(name) for name in ("sets/t.csv", "sets/v.csv", "photos/x/1.png")}
        for spec, lost, says in ((table, "sets/t.csv", "is a file that the run reads its data from"), (table, "sets/v.csv", "is a file that the run"),
                                 (photos, "photos/x/1.png", "lies in ")):
            for verb in [], ["check"]:
                for option in "-o", "-l":
                    self.refused(2, *verb, option, lost, "--overwrite", spec, says=[f"{option} {lost} {says}", "and would be lost; give another name"])
        self.refused(2, "-o", "sets/t.csv", table, says="would be lost")
        self.refused(2, "bench", table, "-b", "cpu", "--iterations", "1", "--profile", "sets/t.csv", "--overwrite", says="would be lost")
        self.refused(2, "summary", table, "--svg", "sets/v.csv", "--overwrite", says="would be lost")
        self.neon("-s", "m.safetensors", table)
        self.refused(2, "resume", "m.safetensors", "-e", "2", "-o", "sets/t.csv", "--overwrite", says="would be lost")
        self.assertEqual({name: self.read(name) for name in before}, before)
        self.write("photos/list.csv", "x/1.png,x\nx/2.png,x\ny/1.png,y\ny/2.png,y\n")
        self.write("photos/mine.png", "mine")
        listed = self.write("l.yaml", self.read(photos).decode().replace("{ImageFolder: {path: photos, test: none}}", "{ImageList: {path: photos/list.csv, test: 0, header: false}}"))
        self.neon("-s", "l.safetensors", listed)
        for words in ["-o", "photos/x/1.png", listed], ["eval", "l.safetensors", "--sheet", "photos/x/1.png"]:
            self.refused(2, *words, "--overwrite", says="photos/x/1.png may be an image of ")
        self.neon("-o", "photos/mine.png", "--overwrite", listed)
        os.remove(self.path("photos/mine.png"))
        self.neon("data", "pack", "photos/list.csv", "packed")
        packed = self.write("packed.yaml", self.read(photos).decode().replace("{ImageFolder: {path: photos, test: none}}", "{Shards: {path: packed}}"))
        for name in os.listdir(self.path("packed")):
            self.refused(2, "-o", "packed/" + name, "--overwrite", packed, says=["lies in ", "and would be lost"])
        self.neon("-e", "1", packed)
        self.assertEqual({name: self.read(name) for name in before}, before)
        self.write("photos/diary", "mine")
        self.neon("-o", "photos/diary", "--overwrite", photos)

    def test_names_of_unfinished_files_are_refused(self):
        for option in "-s", "-o":
            self.refused(2, option, "other.safetensors.part", self.spec(), says="names that end with .part are those of unfinished files")
        self.assertEqual(os.listdir(self.folder), ["s.yaml"])

    def read_if_file(self, name):
        return self.read(name) if stat.S_ISREG(os.stat(self.path(name)).st_mode) else None

    def test_one_name_for_two_files(self):
        """Nothing is written over anything else, however the name is spelt."""
        spec = self.spec()
        os.symlink("s.yaml", self.path("link.yaml"))
        for options in (["-s", "run", "-o", "run"], ["-s", "run", "-o", "./run"], ["-o", "run", "-l", "new/../run"],
                        ["-s", "run", "-o", "run.part"], ["-s", spec], ["-o", spec], ["--log=s.yaml"], ["-s", "link.yaml"],
                        ["--model_file", "run", "-o", "run"], ["-s", self.path("run"), "-o", "run"]):
            self.refused(2, *options, spec, says=["are the same file", "give each its own"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.yaml", "s.yaml"])
        self.neon("-s", "m.safetensors", spec)
        before = self.read("m.safetensors")
        self.refused(2, "resume", "m.safetensors", "-e", "9", "-o", "m.safetensors", says="are the same file")
        self.refused(2, "resume", "m.safetensors", "-e", "9", "-s", "n", "--log=m.safetensors", says="are the same file")
        self.assertEqual(self.read("m.safetensors"), before)
        self.neon("--model_file", "m.safetensors", "-s", "m.safetensors", spec)  # goes on in place, keeps the older one

    def test_data_under_the_name_of_the_metrics(self):
        with h5py.File(self.path("data.h5"), "w") as file:
            file["x"] = [1.0, 2.0]
        before = self.read("data.h5")
        self.refused(3, "-o", "data.h5", self.spec(), says=["data.h5 is there and is not overwritten", "give another name"])
        self.assertEqual(self.read("data.h5"), before)
        self.neon("-o", "run.h5", self.spec())
        self.neon("-o", "run.h5", self.spec())

    def test_full_disk_under_the_log(self):
        result = self.neon("-l", "/dev/full", "-e", "3", self.spec())
        self.assertEqual(result.err.count("No space left on device"), 1, str(result))
        self.assertIn("warning: cannot write the log file", result.err)
        self.assertIn("epoch 3/3", result.err)

    def test_limit_on_the_size_of_files(self):
        """As with a full disk: a checkpoint that cannot be is said at once, training goes on without its log."""
        limit = lambda most: ["prlimit", f"--fsize={most}"]
        spec = self.spec(IRIS.replace("nout: 8", "nout: 1000"))  # checkpoints of 70 KB, as large as their limit
        result = self.refused(1, "-s", "m.safetensors", spec, under=limit(50_000),
                              says=["checkpoints of ", "cannot be written in .", "File too large", "ulimit -f"])
        self.assertNotIn("epoch", result.err)
        self.neon("-s", "m.safetensors", "-e", "3", spec, under=limit(100_000))  # each alone fits
        self.neon("eval", "m.safetensors")
        result = self.refused(1, "-o", "r.h5", self.spec(), under=limit(2_000), says=["r.h5", "File too large"])
        self.assertNotIn("epoch", result.err)
        self.write("l.txt", "[2026-" + "x" * 3_994)
        result = self.neon("-l", "l.txt", "-e", "3", self.spec(), under=limit(4_000))
        self.assertEqual(result.err.count("File too large"), 1, str(result))
        self.assertIn("epoch 3/3", result.err)

    def test_closed_standard_streams(self):
        """No file gets the number of one, or all that is printed would be written into it."""
        for closed, code in ("<&-", 0), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1):
            for name in os.listdir(self.folder):
                os.remove(self.path(name))
            result = self.neon("-s", "m.safetensors", "-o", "r.h5", "-l", "l.txt", self.spec(), code=code,
                               under=["sh", "-c", 'exec "$0" "$@" ' + closed])
            if closed == ">&-":
                self.assertIn("results cannot be written to standard output", result.err)
            self.neon("eval", "m.safetensors")
            with h5py.File(self.path("r.h5")) as file:
                self.assertEqual(file.attrs["status"], "complete")
            for line in self.read("l.txt").decode().splitlines():
                self.assertRegex(line, r"^\[\d{4}-\d\d-\d\d .*\] \[neon\]", closed)

    def test_names_that_are_not_utf8(self):
        """A checkpoint holds them, in a format for UTF-8 alone; a run that could not be saved does not begin."""
        spec, odd = self.spec(), os.fsdecode(b"caf\xe9")
        os.mkdir(self.path(odd))
        os.link(self.path(spec), self.path(odd + "/s.yaml"))
        for options in ["-w", odd, spec], ["-o", odd + "/r.h5", spec], ["-l", odd + "/l.txt", spec], [odd + "/s.yaml"]:
            result = self.refused(2, "-s", "m.safetensors", *options, says=[r"caf\xe9", "is not UTF-8", "checkpoint"])
            self.assertNotIn("epoch", result.err)
        self.refused(2, odd + "/t.yaml", says=r"caf\xe9/t.yaml: there is no such file")
        self.refused(2, spec, "-s", odd + "/m.safetensors", says=["save_path 'caf\\xe9/m.safetensors' is not UTF-8"])
        self.neon("-w", odd, "-o", odd + "/r.h5", odd + "/s.yaml")

    def test_two_runs_at_once(self):
        """The second is refused before it has trained anything, from the first's first step to its last."""
        slow = self.spec(dataset="{UniformRandom: {ntrain: 2000, ntest: 0, nin: 4, nout: 3}}", batch_size="1",
                         epochs="1000", metrics="[]", name="slow.yaml")
        child = self.start("-s", "m.safetensors", "-o", "r.h5", slow)
        self.addCleanup(child.kill)
        for sign in "r.h5", "m.safetensors":
            while not os.path.exists(self.path(sign)):
                self.assertIsNone(child.poll(), "the first run ended")
                time.sleep(0.01)
            for options in ["-s", "m.safetensors"], ["-o", "r.h5"], ["-s", "m.safetensors", "-o", "r.h5"]:
                result = self.refused(1, *options, self.spec(), says=[options[1], "another process is writing it"])
                self.assertNotIn("epoch", result.err)
        self.refused(1, "resume", "m.safetensors", says="another process is writing it")
        self.assertNotIn("left over", self.neon("eval", "m.safetensors", code=3).err)
        child.send_signal(signal.SIGTERM)
        err = child.communicate(timeout=30)[1]
        self.assertEqual((child.returncode, "another process" in err, "replaced" in err), (143, False, False), err)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file.attrs["status"], "killed")
        self.neon("resume", "-e", "1", "m.safetensors")

    def test_folders_are_made(self):
        self.neon("-s", "new/deep/m.safetensors", self.spec())
        self.assertTrue(os.path.exists(self.path("new/deep/m.safetensors")))


class Checkpoints(Case):
    def setUp(self):
        super().setUp()
        self.neon("-r", "1", "-s", "m.safetensors", self.spec())

    def test_missing(self):
        for verb in "resume", "eval":
            self.refused(3, verb, "none.safetensors", says="none.safetensors")
        self.refused(3, "predict", "none.safetensors", "x.csv", says="none.safetensors")

    def test_damaged(self):
        content = self.read("m.safetensors")
        os.mkdir(self.path("alone"))
        middle = len(content) - 20
        for damaged in content[:-1], content[:40], b"", content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]:
            self.write("alone/d.safetensors", damaged)
            for verb in "resume", "eval":
                self.refused(3, verb, "alone/d.safetensors", says="alone/d.safetensors")

    def test_another_net(self):
        other = self.spec(IRIS.replace("nout: 8", "nout: 9"), name="other.yaml")
        self.refused(2, "--model_file", "m.safetensors", other,
                     says=["another net", "Affine_0/W is f32 (8, 4) in the file, f32 (9, 4) in the net",
                           "Affine_1/W is f32 (3, 8)"])
        deeper = self.spec(IRIS.replace("  - Affine: {nout: 8,", "  - Affine: {nout: 4, init: Kaiming}\n  - Affine: {nout: 8,"),
                           name="deeper.yaml")
        self.refused(2, "--model_file", "m.safetensors", deeper, says="Affine_2/W (3, 8) is in the net only")
        shallow = self.spec("\n".join(line for line in IRIS.splitlines() if "nout: 8" not in line), name="shallow.yaml")
        self.refused(2, "--model_file", "m.safetensors", shallow, says="Affine_0/W is f32 (8, 4) in the file, f32 (3, 4) in the net")

    def test_resume_with_another_net(self):
        self.refused(2, "resume", "m.safetensors", "--set", "layers[0].nout=5", says=["another net", "Affine_0/W/velocity"])

    def test_resume_with_another_optimizer(self):
        self.refused(2, "resume", "-e", "9", "m.safetensors", "--set", "optimizer=Adam", says=["another net", "velocity"])

    def test_resume_keeps_what_makes_the_bits(self):
        for option in ["-z", "8"], ["-d", "f64"], ["-r", "2"], ["--caffe"], ["--tf32"], ["--model_file", "x"]:
            self.refused(2, "resume", *option, "m.safetensors", says="cannot change when a run goes on")

    def test_tf32_where_it_means_nothing(self):
        """Chosen so it is a contradiction; where a file of options says it for every run, or no GPU is found, a note."""
        spec, words = self.spec(), "--tf32 does nothing "
        for options, where in ((["-b", "cpu"], "on the CPU"), (["-d", "f64"], "in f64"), (["-d", "f16"], "in f16"),
                               (["-d", "bf16"], "in bf16"), (["--set", "datatype=f16"], "in f16")):
            for verb in [], ["check"], ["bench", "--iterations", "1"]:
                self.refused(2, *verb, "--tf32", *options, spec, says=["option " + words + where, "f32 on a GPU"])
        self.refused(2, "--tf32", self.spec(backend="cpu", name="cpu.yaml"), says=words + "on the CPU")
        self.write("a.cfg", "tf32 = true\nepochs = 1\n")
        done = self.neon("-c", "a.cfg", "-b", "cpu", "-s", "fast.safetensors", spec)
        self.assertIn("note: " + words + "on the CPU", done.err)
        self.assertIn("note: " + words, self.neon("-e", "1", "--tf32", spec, environment={"CUDA_VISIBLE_DEVICES": ""}).err)
        self.assertNotIn("tf32", self.neon("-e", "1", "--tf32=false", "-b", "cpu", spec).err)
        # The same again, and its opposite.
        self.neon("resume", "-c", "a.cfg", "-e", "2", "fast.safetensors")
        self.refused(2, "resume", "--tf32=false", "fast.safetensors", says="--tf32 cannot change when a run goes on")

    def test_data_changed_since(self):
        write_mnist(self)
        self.neon("-r", "1", "-w", self.folder, "-s", "run.safetensors", "-o", "run.h5", self.spec(MNIST))
        before, curves = self.read("run.safetensors"), self.read("run.h5")
        for name, content in (("train-images-idx3-ubyte", lambda old: old[:-1] + bytes([old[-1] ^ 1])),
                              ("train-labels-idx1-ubyte", lambda old: old[:8] + bytes([9 - old[8]]) + old[9:]),
                              ("t10k-images-idx3-ubyte", lambda old: old[:20] + bytes([old[20] ^ 128]) + old[21:])):
            sound = self.read("mnist/" + name)
            self.write("mnist/" + name, content(sound))
            self.refused(3, "resume", "-e", "4", "run.safetensors",
                         says=["data are not those that the run began with: then 64 training samples", "--model_file"])
            self.write("mnist/" + name, sound)
        write_mnist(self, train=65)
        self.refused(3, "resume", "-e", "4", "run.safetensors", says=["then 64 training samples", "now 65 training samples"])
        self.neon("-r", "1", "-e", "1", "-w", self.folder, "--model_file", "run.safetensors", self.spec(MNIST))
        self.assertEqual((self.read("run.safetensors"), self.read("run.h5")), (before, curves))
        write_mnist(self)
        os.rename(self.path("mnist"), self.path("moved"))
        os.mkdir(self.path("other"))
        os.rename(self.path("moved"), self.path("other/mnist"))
        self.neon("resume", "-e", "4", "-w", self.path("other"), "run.safetensors")  # the same data elsewhere

    def test_no_training_samples(self):
        write_mnist(self, train=0)
        for verb in [], ["check"]:
            self.refused(3, *verb, "-w", self.folder, self.spec(MNIST), says="mnist: there are no training samples")

    def test_file_of_another_program(self):
        header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        self.write("w.safetensors", len(header).to_bytes(8, "little") + header + bytes(4))
        for verb in "resume", "eval":
            self.refused(3, verb, "w.safetensors", says="w.safetensors")

    def test_predict_samples_that_do_not_fit(self):
        for content, says in (("1,2,3\n", ["samples of 3 numbers", "takes 4"]), ("1,2,3,4\n1,2\n", ["x.csv:2"]),
                              ("1,2,3,4\n1,b,3,4\n", ["x.csv:2", "expected a number, found 'b'"]), ("", ["no samples"]),
                              ("1,2,3,inf\n", ["x.csv", "inf"]), ("1,nan,3,4\n", ["x.csv", "nan"])):
            self.write("x.csv", content)
            self.refused(3, "predict", "m.safetensors", "x.csv", says=says)
        self.refused(3, "predict", "m.safetensors", "none.csv", says="none.csv")
        self.refused(2, "predict", "m.safetensors", "s.yaml", says=["s.yaml", ".csv"])
        self.refused(2, "predict", "m.safetensors", "x.csv", "--format", "xml", says="csv")
        for top_k in "0", "99999999999999999999":
            self.refused(2, "predict", "m.safetensors", "x.csv", "--top_k", top_k, says=["option --top_k", top_k])
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"1,2,3\n", says="neon: stdin: samples of 3 numbers")
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"1|2|3|4\n", says=["stdin: holds no samples", "first line"])


if __name__ == "__main__":
    support.main()
