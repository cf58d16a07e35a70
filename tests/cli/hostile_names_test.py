#!/usr/bin/python3
"""Names and texts from outside, in every place where a message or a result quotes one: none of them commands the
terminal, makes a line of its own, or is longer than a message. Results as CSV and JSON go by their own rules."""
import io
import json
import os
import pty
import re
import struct
import subprocess
import tarfile
import unittest

import numpy as np

import support
from damage_test import parts, sealed
from support import IRIS, NEON, Case

# A title, a cleared screen, a forged line, a carriage return, a mark that turns the direction, a byte that is no UTF-8.
HOSTILE = "a\x1b]0;x\x07\x1b[2J\nneon: all is well\r\u202eb"
LONG = "n" * 100_000
# ECMA-48's controls but the line end, and the marks of UAX #9 that turn the direction of writing.
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\udc80-\udcff]")
NET = """\
layers:
  - Affine: {nout: 2, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}
batch_size: 2
epochs: 1
"""
PNG = support.png(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))


class HostileNames(Case):
    def tame(self, *arguments, code=0, quotes="a\\x1b]0;", most=4000, **options):
        """Runs neon, which must quote the name, as escapes, in lines of its own; returns all that it wrote."""
        result = self.neon(*arguments, code=code, **options)
        said = result.out + result.err
        self.check(said)
        self.assertIn(quotes, said, str(result)[:2000])
        self.assertLess(max(len(line) for line in result.err.splitlines() or [""]), most)
        return result

    def check(self, said):
        self.assertIsNone(COMMANDS.search(said), repr(said[:2000]))
        self.assertFalse([line for line in said.splitlines() if line.startswith("neon: all")], said)

    def folder_of_classes(self, names):
        for name in names:
            for i in range(2):
                self.write(f"photos/train/{name}/{i}.png", PNG)
                self.write(f"photos/test/{name}/{i}.png", PNG)
        return self.write("f.yaml", "dataset: {ImageFolder: {path: photos}}\n" + NET)

    def test_classes_of_folders(self):
        spec = self.folder_of_classes([HOSTILE, "good"])
        self.tame("data", "stats", spec)
        self.neon(spec, "-s", "m.safetensors", "-l", "log.txt")
        self.write(f"photos/train/{HOSTILE}/bad.png", b"no image")
        self.tame("data", "check", "photos", code=3)
        self.tame(spec, "-l", "log.txt", code=3)
        self.check(self.read("log.txt").decode())
        # A table and JSON by their own rules: in quotes, with escapes; to a terminal never raw.
        predict = "predict", "m.safetensors", "photos/test/good/0.png", "--top_k", "2"
        self.assertIn(f'"{HOSTILE}"', self.neon(*predict).out)
        told = json.loads(self.neon(*predict, "--format", "json").out)
        self.assertEqual({item["class"] for item in told["top"]}, {HOSTILE, "good"})
        self.check(self.on_terminal(*predict))
        self.check(self.on_terminal(*predict, "--format", "json"))

    def on_terminal(self, *arguments):
        """All that neon writes to a terminal."""
        main, other = pty.openpty()
        with subprocess.Popen([NEON, *arguments], cwd=self.folder, env={**self.environment, "NO_COLOR": "1"},
                              stdin=subprocess.DEVNULL, stdout=other, stderr=subprocess.DEVNULL) as process:
            os.close(other)
            said = b""
            while True:
                try:
                    piece = os.read(main, 4096)
                except OSError:
                    break
                if not piece:
                    break
                said += piece
            os.close(main)
            self.assertEqual(process.wait(), 0)
        return said.decode(errors="surrogateescape").replace("\r\n", "\n")  # the terminal's own line ends

    def test_columns_of_tables(self):
        rows = "".join(f"{i},{i},{kind}\n" for i, kind in enumerate("xyxyxyxy"))
        for name in HOSTILE, LONG:
            self.write("t.csv", f'"{name}",b,c\n' + rows)
            quotes = "a\\x1b]0;" if name == HOSTILE else "nnn..."
            self.tame(self.write("t.yaml", "dataset: {CSV: {path: t.csv, target: z}}\n" + NET), code=2, quotes=quotes)
        self.write("t.csv", "a,b,c\n" + rows.replace("3,3", f'3,"{HOSTILE}"'))
        self.tame(self.write("t.yaml", "dataset: {CSV: {path: t.csv}}\n" + NET), code=3)
        self.write("t.csv", ",".join(f"column{i}" for i in range(10_000)) + "\n" + ("1," * 9_999 + "1\n") * 4)
        self.tame(self.write("t.yaml", "dataset: {CSV: {path: t.csv, target: z}}\n" + NET), code=2, quotes="more", most=1500)

    def test_names_of_layers(self):
        escaped = json.dumps(HOSTILE).replace("\\u202e", "\\u202E")
        self.tame(self.write("n.yaml", "dataset: Iris\n" + NET.replace("{nout: 2", "{name: " + escaped + ", nout: 3")), code=2)
        self.tame(self.write("n.yaml", "dataset: Iris\n" + NET.replace("Affine: {", escaped + ": {")), code=2)
        self.tame(self.write("n.yaml", "dataset: Iris\n" + NET.replace("nout: 2", escaped + ": 2")), code=2)
        self.tame(self.write("n.yaml", f"dataset: Iris\n{escaped}: 1\n" + NET), code=2)
        self.tame("--set", f"layers[0].{HOSTILE}=1", self.spec(), code=2, quotes="x1b]0;")

    def test_paths(self):
        for verb in [], ["check"], ["resume"], ["eval"], ["data", "check"], ["data", "stats"]:
            for path in HOSTILE, HOSTILE + ".yaml", HOSTILE + ".safetensors":
                self.tame(*verb, path, code=None)
            for path in LONG, "/".join([LONG[:200]] * 500):
                self.assertLess(len(self.neon(*verb, path, code=None).err), 2000)
        spec = self.spec(name=f"{HOSTILE}/s.yaml")
        self.tame("check", spec)
        self.tame(spec, "-s", f"{HOSTILE}.safetensors", "-o", f"{HOSTILE}.h5", quotes="\\033]0;")  # a command for a shell
        self.tame("-b", HOSTILE, spec, code=2)
        self.tame(f"--{HOSTILE}", spec, code=2)
        self.tame("help", HOSTILE, code=2)

    def test_texts_of_checkpoints(self):
        self.neon(self.spec(), "-s", "m.safetensors")
        text, header, _ = parts(self.read("m.safetensors"))
        data, about = self.read("m.safetensors")[8 + len(text):], header["__metadata__"]
        position = json.loads(about["neon.position"])
        for key in "version", "device", "cuda", "simd":
            about["neon.position"] = json.dumps({**position, key: HOSTILE})
            self.write("f.safetensors", sealed(header, data))
            self.tame("resume", "-e", "5", "f.safetensors")
        about["neon.position"], options = json.dumps(position), about["neon.options"]
        about["neon.options"] = re.sub("spec_dir: .*", lambda _: "spec_dir: " + json.dumps(HOSTILE), options)
        about["neon.classes"] = json.dumps([HOSTILE] * 3)
        self.write("f.safetensors", sealed(header, data))
        self.check(self.neon("eval", "f.safetensors", code=None).err)
        tensor = next(name for name in header if name != "__metadata__")
        header[HOSTILE] = header.pop(tensor)
        self.write("f.safetensors", sealed(header, data))
        self.tame("eval", "f.safetensors", code=None)
        many = {f"{i}{'n' * 50}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(9000)}
        self.write("f.safetensors", sealed({**many, **header}, data))
        self.assertLess(len(self.neon("eval", "f.safetensors", code=None).err), 2000)

    def test_members_of_archives(self):
        with tarfile.open(self.path("a.tar"), "w") as archive:
            for name, content in ("x/1.png", PNG), ("y/2.png", PNG), (f"y/{HOSTILE}.png", b"no image"):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        self.tame("data", "check", "a.tar", code=3)
        self.tame("data", "pack", "a.tar", "out", code=3)
        buffer = io.BytesIO()
        np.savez(buffer, **{"a\x1b]0;x\n": np.zeros((4, 2)), **{f"n{i}": np.zeros(1) for i in range(100)}})
        self.write("z.npz", buffer.getvalue())
        self.tame(self.write("z.yaml", "dataset: {NPZ: {path: z.npz}}\n" + NET), code=None)

    def test_data_sets_of_hdf5(self):
        import h5py
        with h5py.File(self.path("d.h5"), "w") as file:
            file[HOSTILE.replace("\x00", "")] = np.zeros((4, 2))
            file["input"] = np.zeros((4, 2), np.float32)
        spec = self.write("h.yaml", "dataset: {HDF5: {path: d.h5}}\n" + NET)
        self.check(self.neon(spec, code=None).err)
        self.tame("--set", f"dataset.HDF5.path={HOSTILE.splitlines()[0]}.h5", spec, code=None)


if __name__ == "__main__":
    support.main()
