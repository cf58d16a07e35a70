#!/usr/bin/python3
"""Checkpoints cut off or with one bit changed, in every region of the file: no verb crashes or gives a number of
wrong weights; each says so in one line, or takes the older checkpoint and says that. And files whose checksums are
right but whose contents are not those of a run."""
import json
import os
import re
import shutil
import struct
import unittest

import numpy as np

import support
from support import IRIS, Case, parts, sealed, tensors

SPEC = IRIS.replace("batch_size: 16", "callbacks: [EarlyStop: {patience: 99}]\nema: 0.9\nbatch_size: 16")


def flips(content):
    """(what, byte, bit) in every region: header length, each kind of text in the header, each tensor."""
    text, _, places = parts(content)
    for byte in range(8):
        yield "header length", byte, (0, 7)[byte % 2]
    for what in (b'"__metadata__"', b"neon.callbacks", b"neon.checksums", b"neon.classes", b"neon.data", b"neon.epoch",
                 b"neon.format", b"neon.header_checksum", b"neon.number", b"neon.options", b"neon.position", b"neon.run",
                 b"neon.spec", b'"dtype"', b'"shape"', b'"data_offsets"'):
        at = text.index(what)
        yield what.decode() + ", its name", 8 + at + 3, 0
        yield what.decode() + ", its value", 8 + at + len(what) + 6, 2
    for at in range(8, len(text), len(text) // 40):
        yield "header", 8 + at, at % 8
    yield "end of the header", 7 + len(text), 1
    for begin, end, name in places:
        for byte in begin, (begin + end) // 2, end - 1:
            yield f"tensor {name}", byte, byte % 8


def cuts(content):
    """Lengths at and beside every boundary."""
    text, _, places = parts(content)
    ends = {0, 8, 8 + len(text) // 2, 8 + len(text), *(end for _, end, _ in places)}
    return sorted({end + step for end in ends for step in (-1, 0, 1) if 0 <= end + step < len(content)})


def damaged_forms(content):
    for what, byte, bit in flips(content):
        yield f"{what}: bit {bit} of byte {byte}", content[:byte] + bytes([content[byte] ^ 1 << bit]) + content[byte + 1:]
    for length in cuts(content):
        yield f"cut to {length} of {len(content)} bytes", content[:length]
    yield "a byte more", content + b"\0"


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.neon("-r", "1", "-e", "2", "-s", "m.safetensors", self.spec(SPEC))
        self.content = self.read("m.safetensors")
        self.older = self.read("m.1-1.safetensors")
        self.write("x.csv", "5,3,1,0.2\n")

    def test_no_other_is_there(self):
        os.mkdir(self.path("alone"))
        count = 0
        for count, (what, damaged) in enumerate(damaged_forms(self.content), 1):
            self.write("alone/m.safetensors", damaged)
            verbs = [["eval"], ["resume", "-e", "4"], ["predict"]] if count % 10 == 0 else [["eval"]]
            for verb, *options in verbs:
                with self.subTest(what, verb=verb):
                    result = self.refused(3, verb, *options, "alone/m.safetensors", *(["x.csv"] if verb == "predict" else []),
                                          says="alone/m.safetensors")
                    self.assertEqual((result.out, len(result.err.splitlines())), ("", 1), str(result))
            self.assertEqual(self.read("alone/m.safetensors"), damaged)
        self.assertEqual(os.listdir(self.path("alone")), ["m.safetensors"])
        self.assertGreater(count, 150)

    def test_weights_are_taken_of_runs_with_options_that_are_not_known(self):
        text, header, _ = parts(self.content)
        about, plain = header["__metadata__"], self.spec(name="plain.yaml", epochs="1")
        for options in about["neon.options"] + "warp: 9\n", "caffe: [", "- 1\n", "caffe: maybe\n", "", None:
            with self.subTest(options):
                about["neon.options"] = options
                if options is None:
                    del about["neon.options"]
                self.write("other.safetensors", sealed(header, self.content[8 + len(text):]))
                self.neon("--model_file", "other.safetensors", "-s", "n", "--set", "optimizer.learning_rate=0", plain)
                self.assertEqual(tensors(self.path("n"))[0]["Affine_0/W"], tensors(self.path("m.safetensors"))[0]["Affine_0/W/ema"])
                told = self.neon("--caffe", "--model_file", "other.safetensors", plain).err
                self.assertEqual("was trained without --caffe" in told, options is not None and "warp" in options, told)

    def test_the_older_one_is_taken(self):
        os.mkdir(self.path("alone"))
        self.write("alone/older.safetensors", self.older)
        expected = self.neon("eval", "--format", "json", "alone/older.safetensors").out
        self.assertNotEqual(expected, self.neon("eval", "--format", "json", "m.safetensors").out)
        for what, damaged in damaged_forms(self.content):
            with self.subTest(what):
                self.write("m.safetensors", damaged)
                result = self.neon("eval", "--format", "json", "m.safetensors")
                self.assertEqual(result.out, expected)
                lines = result.err.splitlines()
                self.assertEqual(len(lines), 2, str(result))
                self.assertTrue(lines[0].startswith("warning: m.safetensors"), str(result))
                self.assertEqual(lines[1], "warning: using the older checkpoint m.1-1.safetensors")

    def test_a_run_goes_on_from_the_older_one(self):
        self.write("straight.safetensors", self.content)
        self.neon("resume", "-e", "4", "straight.safetensors")
        for number, (what, damaged) in enumerate(damaged_forms(self.content)):
            if number % 20:
                continue
            with self.subTest(what):
                for name in os.listdir(self.folder):
                    if name.startswith("m."):
                        os.remove(self.path(name))
                self.write("m.safetensors", damaged)
                self.write("m.1-1.safetensors", self.older)
                result = self.neon("resume", "-e", "4", "m.safetensors")
                self.assertIn("using the older checkpoint m.1-1.safetensors", result.err)
                self.assertIn("going on after epoch 1", result.err)
                self.assertIn("m.safetensors is renamed to m.unreadable-1.safetensors", result.err)
                self.assertEqual(self.read("m.unreadable-1.safetensors"), damaged)
                self.assertEqual(tensors(self.path("m.safetensors"))[0], tensors(self.path("straight.safetensors"))[0])

    def forged(self, change):
        """Writes a checkpoint with sound checksums, changed by a function of its header."""
        text, header, _ = parts(self.content)
        change(header)
        os.makedirs(self.path("forged"), exist_ok=True)
        self.write("forged/f.safetensors", sealed(header, self.content[8 + len(text):]))
        return "forged/f.safetensors"

    def test_sealing_again_changes_nothing(self):
        path = self.forged(lambda header: None)
        self.assertEqual(self.neon("eval", path).out, self.neon("eval", "m.safetensors").out)
        self.neon("resume", "-e", "3", path)

    def test_options_do_not_choose_what_is_written(self):
        """A checkpoint from somebody else names files outside its folder: in the options, and by links beside it."""
        os.makedirs(self.path("home"))
        self.write("home/.profile", "[2026-01-01 00:00:00.000] [neon] [info] taken for a log\n")
        self.write("home/run.h5", "")
        os.makedirs(self.path("forged/sub"))
        for link, to in ("log", "home/.profile"), ("new", "home/new"), ("sub/folder", "home"), ("run.h5", "home/run.h5"):
            os.symlink(self.path(to), self.path("forged/" + link))
        before = {name: self.read("home/" + name) for name in os.listdir(self.path("home"))}
        options = parts(self.content)[1]["__metadata__"]["neon.options"]
        home = self.path("home")
        hostile = [(field, name, folder) for field, names in (("log_file", [".profile", "new"]), ("output_file", ["run.h5", "new.h5"]))
                   for target in names for name, folder in
                   ((f"{home}/{target}", ""), (target, home), (f"../home/{target}", self.path("forged")),
                    (f"forged/../home/{target}", ""), (f"sub/folder/{target}", self.path("forged")),
                    (f"{home}/new/{target}", ""))]
        hostile += [("log_file", "log", self.path("forged")), ("log_file", "new", self.path("forged")),
                    ("output_file", "run.h5", self.path("forged"))]
        for field, name, folder in hostile:
            def change(header):
                text = re.sub(rf"(?m)^({field}|run_dir):.*$", "", options)
                header["__metadata__"]["neon.options"] = f"{text}\n{field}: '{name}'\nrun_dir: '{folder}'\n"
            with self.subTest(field, name=name, folder=folder):
                path = self.forged(change)
                asks = {"log_file": "-l FILE", "output_file": "-o FILE"}[field]
                result = self.refused(2, "resume", "-e", "3", path, says=asks.split()[0])
                self.assertRegex(result.err, "outside its own folder|is a copy or an older checkpoint")
                self.neon("eval", path)
                self.neon("predict", path, "x.csv")
                self.assertEqual({name: self.read("home/" + name) for name in os.listdir(home)}, before)
        done = self.neon("resume", "-e", "3", path, "-o", "mine.h5")
        self.assertIn(f"writes {path}, {self.path('mine.h5')}\n", done.err)

    def test_stored_names_within_the_folder_are_used(self):
        os.mkdir(self.path("run"))
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", "-o", "curves/run.h5", "-l", "log.txt", "../s.yaml", cwd=self.path("run"))
        for epochs, path, folder in ("2", "m.safetensors", self.path("run")), ("3", "run/m.safetensors", self.folder):
            done = self.neon("resume", "-e", epochs, path, cwd=folder)
            for name in "m.safetensors", "curves/run.h5", "log.txt":
                self.assertRegex(done.err, rf"(?m)^writes .*{name}")
        self.assertIn(b"trained 3 epochs", self.read("run/log.txt"))

    def test_no_data_set_is_fetched_into_a_stored_folder(self):
        def change(header):
            about = header["__metadata__"]
            about["neon.spec"] = re.sub(r"(?s)^dataset:.*?(?=^[a-z])", "dataset: {MNIST: {fallback: Digits}}\n", about["neon.spec"], flags=re.M)
            about["neon.options"] = re.sub("(?m)^data_dir:.*", f"data_dir: {self.path('elsewhere')}", about["neon.options"])
        path = self.forged(change)
        self.assertIn("MNIST", str(parts(self.read(path))[1]))
        for verb in ["eval"], ["resume", "-e", "4"]:
            self.neon(*verb, path, code=None)
            self.assertFalse(os.path.exists(self.path("elsewhere")), verb)
        # Named on the command line, it may be made.
        self.neon("eval", path, "-w", "elsewhere", code=None)
        self.assertTrue(os.path.exists(self.path("elsewhere")))

    def test_positions_that_no_run_has(self):
        position = json.loads(parts(self.content)[1]["__metadata__"]["neon.position"])
        changes = [{key: value} for key in ("epoch", "step", "step_in_epoch", "samples", "good_steps", "skipped", "updates")
                   for value in (-1, 1.5, "2", None, [], 2**53 + 1, 2**64)]
        changes += [{"epoch": 1}, {"step": 15}, {"step_in_epoch": 8}, {"step_in_epoch": 9, "step": 25}]  # 8 an epoch
        changes += [{"threads": value} for value in (0, -1, 2**40)]
        changes += [{"loss_scale": value} for value in ("nan", "inf", "0", "", "1x", 1)]
        changes += [{"cost_sum": value} for value in ("nan", "-inf", None)] + [{"seconds": "-1"}, {"epoch_seconds": "-1"}, {"epoch_seconds": 1}, {"seed": -1}, {"simd": 4}]
        for change in changes:
            with self.subTest(str(change)):
                path = self.forged(lambda header: header["__metadata__"].update(
                    {"neon.position": json.dumps({**position, **change})}))
                result = self.refused(3, "resume", "-e", "4", "-s", "new", path, says="neon: ")
                self.assertRegex(result.err, "cannot be read|fits no step of this run")
        self.assertFalse(os.path.exists(self.path("new")))

    def test_metadata_that_are_none(self):
        for key in "neon.spec", "neon.options", "neon.position", "neon.classes", "neon.callbacks":
            for value in None, "[1, 2", "{]", '{"a": 1}', "[1]", "\x00", "x" * 100_000:
                def change(header):
                    if value is None:
                        del header["__metadata__"][key]
                    else:
                        header["__metadata__"][key] = value
                with self.subTest(key, value=str(value)[:20]):
                    result = self.neon("resume", "-e", "4", "-s", "new", self.forged(change), code=None)
                    self.assertIn(result.code, (2, 3), str(result))
                    self.assertEqual(len([line for line in result.err.splitlines() if line.startswith("neon: ")]), 1)
                    self.assertLess(len(result.err), 2000, "a line that nobody reads")
                    self.assertNotRegex(result.err, r"exception|std::|map::|basic_string|stod")
        self.assertFalse(os.path.exists(self.path("new")))

    def test_no_library_speaks(self):
        about = parts(self.content)[1]["__metadata__"]
        changes = [("neon.callbacks", value) for value in ("[{}]", '[{"best": "1"}]', "[]", "[1]", '[{"best": 1e999}]')]
        for key in "neon.data", "neon.position":
            whole = json.loads(about[key])
            changes += [(key, json.dumps({**whole, name: value}).replace('"HUGE"', "1e999"))
                        for name in whole for value in ({}, [[]], "HUGE", None)]
            changes += [(key, json.dumps({k: v for k, v in whole.items() if k != name})) for name in whole]
        changes += [("neon.classes", value) for value in ("[1]", "[[]]", "1e999", '{"a": "b"}')]
        for number, (key, value) in enumerate(changes):
            with self.subTest(key, value=value):
                path = self.forged(lambda header: header["__metadata__"].update({key: value}))
                for verb in [["resume", "-e", "3", "-s", "new"], ["predict"]][number % 2:][:1]:
                    result = self.neon(*verb, path, *(["x.csv"] if verb == ["predict"] else []), code=None)
                    self.assertNotRegex(result.err, r"exception|std::|map::|basic_string|stod|type must be")

    def test_weights_that_are_no_numbers(self):
        text, header, _ = parts(self.content)
        data = bytearray(self.content[8 + len(text):])
        for name, value in ("Affine_0/W/ema", np.nan), ("Affine_1/W/ema", np.inf):
            begin = header[name]["data_offsets"][0]
            spoilt = bytearray(data)
            spoilt[begin + 8:begin + 12] = struct.pack("<f", value)
            self.write("spoilt.safetensors", sealed(json.loads(json.dumps(header)), bytes(spoilt)))
            says = ["spoilt.safetensors: its net cannot be used", name.removesuffix("/ema"), "NaN" if np.isnan(value) else "infinity"]
            for verb in ["eval"], ["predict"]:
                result = self.refused(5, *verb, "spoilt.safetensors", *(["x.csv"] if verb == ["predict"] else []), says=says)
                self.assertEqual(result.out, "")

    def test_tensors_that_are_others(self):
        name = "Affine_0/W/ema"  # which eval takes for the weights
        shape = parts(self.content)[1][name]["shape"]
        for change, says in ((lambda header: header[name].update(shape=shape[::-1]), ["Affine_0/W", "in the file", "in the net"]),
                             (lambda header: header[name].update(dtype="I32"), ["Affine_0/W", "i32", "f32"]),
                             (lambda header: header.update({"Other/W": header.pop(name)}), ["Other/W", "in the file only"])):
            path = self.forged(change)
            for verb in ["eval"], ["resume", "-e", "4"]:
                self.refused(2, *verb, path, says=["another net", *says])

    def test_weights_to_restore_that_are_others(self):
        spec = self.spec(name="e.yaml", callbacks="[EarlyStop: {patience: 9}]", epochs=2)
        self.neon("-r", "3", "-s", "e.safetensors", spec)
        self.content = self.read("e.safetensors")
        one, two = "callback/0/Affine_0/W", "callback/0/Affine_1/W"
        def swapped(header):
            header[one], header[two] = header[two], header[one]
        for change, says in ((swapped, "has Affine_0/W for EarlyStop to restore as f32"),
                             (lambda header: header.update({"callback/0/Other/W": header.pop(one)}), "and the net has no Other/W")):
            self.refused(3, "resume", "-e", "4", self.forged(change), says=says)


if __name__ == "__main__":
    support.main()
