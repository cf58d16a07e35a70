#!/usr/bin/python3
"""Libraries that take long to load are loaded by the runs that need them, and by no other; and what neon says where a
module is missing, broken or of another version."""
import os
import re
import resource
import shutil
import subprocess

import numpy as np

import support
from support import Case, png

# Libraries that the program itself is linked with.
OWN = {"libc", "libgcc_s", "libgomp", "libm", "libstdc++", "libyaml-cpp", "libz"}
RUN = ["-b", "cpu", "-d", "f64", "-e", "1", "s.yaml"]
MODULES = os.path.join(os.path.dirname(support.NEON), "modules")


class Starts(Case):
    def loaded(self, *arguments):
        """Names of the libraries that were loaded, as the dynamic loader reports them."""
        report = self.path("loaded")
        self.neon(*arguments, environment={"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": report})
        found = set()
        for name in os.listdir(self.folder):
            if name.startswith("loaded."):
                found |= set(re.findall(r"calling init: \S*/([^/\s]+?)(?:-[\d.]+)?\.so", self.read(name).decode()))
                os.remove(self.path(name))
        self.assertIn("libstdc++", found)
        return {name for name in found if not name.startswith(("ld-linux", "libpthread", "libdl"))}

    def test_what_computes_nothing_loads_nothing(self):
        self.spec()
        for arguments in [["--version"], ["--help"], ["help"], ["help", "Adam"], ["check", "--help"], ["check", "s.yaml"],
                          ["schedule", "s.yaml"]]:
            with self.subTest(arguments):
                self.assertLessEqual(self.loaded(*arguments), OWN)

    def test_a_run_without_files_loads_what_it_computes_with(self):
        added = self.loaded("-b", "cpu", "-e", "1", self.spec()) - OWN
        self.assertLessEqual({"libneon_onednn", "libdnnl"}, added)
        self.assertEqual({name for name in added if name.startswith("libneon_")}, {"libneon_onednn"})
        for other in "libhdf5", "libcurl", "libcrypto", "libpng", "libblas", "libfmt":
            self.assertFalse([name for name in added if name.startswith(other)], added)

    def test_f64_does_without_onednn(self):
        self.assertLessEqual(self.loaded("-b", "cpu", "-d", "f64", "-e", "1", self.spec()), OWN)

    def test_each_is_loaded_where_it_is_needed(self):
        self.spec()
        rows = b"\0\xff" * 24
        for name in "a/1", "a/2", "b/1", "b/2":
            self.write(f"images/train/{name}.png", png(np.frombuffer(rows, np.uint8).reshape(4, 4, 3)))
        self.spec("dataset: {ImageFolder: {path: images/train}}\nlayers: [{Affine: {nout: 2, activation: Softmax}}]\n"
                  "cost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 4\n", "images.yaml")
        for module, arguments in {"hdf5": ["-e", "1", "-o", "m.h5", "s.yaml"], "log": ["-e", "1", "-l", "m.log", "s.yaml"],
                                  "images": ["-e", "1", "images.yaml"]}.items():
            with self.subTest(module):
                self.assertIn("libneon_" + module, self.loaded("-b", "cpu", "-d", "f64", *arguments))

    def test_a_start_touches_little_memory(self):
        """Page faults, which are most of the time of a start: 120 without any code of neon's."""
        self.assertLess(self.page_faults("--version"), 400)

    def page_faults(self, *arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        subprocess.run([support.NEON, *arguments], check=True, env=self.environment, stdout=subprocess.DEVNULL)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before


class Modules(Case):
    """The program by itself, in a folder where a test puts modules."""

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("alone/neon/modules"))
        shutil.copy2(support.NEON, self.path("alone/neon"))
        self.spec()

    def run_alone(self, *arguments):
        neon, support.NEON = support.NEON, self.path("alone/neon/neon")
        try:
            return self.neon(*arguments, code=None)
        finally:
            support.NEON = neon

    def put(self, module, source, folder="alone/neon/modules"):
        shutil.copy2(source, self.path(f"{folder}/libneon_{module}.so"))

    def test_a_module_that_is_missing_is_missed_where_it_is_needed(self):
        self.assertEqual(self.run_alone(*RUN).code, 0)
        result = self.run_alone("-o", "m.h5", *RUN)
        self.assertEqual((result.code, result.err.splitlines()[-1]), (1, (
            "neon: metrics files need libneon_hdf5.so, which is neither installed nor beside this program: install neon as a "
            "whole, or build all of it (ninja -C build)")), str(result))

    def test_images_are_not_bad_where_their_module_is_missing(self):
        for part, kind, i in ((part, kind, i) for part in ("train", "test") for kind in ("blue", "red") for i in range(3)):
            self.write(f"photos/{part}/{kind}/{i}.png", png(np.full((8, 8, 3), 40 * i + 9 * (kind == "red"), np.uint8)))
        self.write("boxes.csv", "image,class,x1,y1,x2,y2\n0.png,a,1,1,5,5\n1.png,b,1,1,5,5\n")
        self.write("p.yaml", "dataset: {ImageFolder: {path: photos, size: 8, on_bad_sample: skip}}\nlayers: [Affine: "
                   "{nout: classes, activation: Softmax}]\ncost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 2\nepochs: 1\n")
        self.neon("-r", "1", "-b", "cpu", "-d", "f64", "-s", "m.safetensors", "p.yaml")
        self.neon("data", "pack", "photos", "shards", "--skip_bad")
        for arguments in (("p.yaml", "-b", "cpu", "-d", "f64"), ("check", "--set", "dataset={ImageFolder: {path: photos}}", "p.yaml"),
                          ("data", "check", "photos"), ("data", "pack", "photos", "other", "--skip_bad"), ("data", "check", "shards"),
                          ("predict", "m.safetensors", "photos/test/red", "-b", "cpu"),
                          ("-b", "cpu", "-d", "f64", "--set", "dataset={Shards: {path: shards, size: 8, on_bad_sample: skip}}", "p.yaml")):
            with self.subTest(arguments):
                result = self.run_alone(*arguments)
                self.assertEqual(result.code, 1, str(result))
                self.assertIn("neon: images need libneon_images.so, which is neither installed nor beside", result.err)

    def test_the_doctor_opens_all(self):
        alone = self.run_alone("doctor")
        self.assertEqual(alone.code, 1)
        self.assertEqual(len(re.findall(r"(?m)^modules +.* needs? libneon_\w+\.so, which is neither", alone.out)), 6, alone.out)
        self.assertRegex(self.neon("doctor").out, "(?m)^modules +onednn, curl, crypto, hdf5, images, log$")

    def test_those_beside_the_program_are_taken(self):
        for module, folder in {"hdf5": "alone/neon/modules", "log": "alone/neon"}.items():
            self.put(module, os.path.join(MODULES, f"libneon_{module}.so"), folder)
        result = self.run_alone("-o", "m.h5", "-l", "m.log", *RUN)
        self.assertEqual(result.code, 0, str(result))
        self.assertTrue(self.read("m.h5").startswith(b"\x89HDF"))
        self.assertIn(b"[neon] [info]", self.read("m.log"))

    def test_modules_find_all_that_they_call(self):
        """In the program or in their own libraries: lazily bound, a function that is missing would end a run at its call."""
        names = [name for name in os.listdir(MODULES) if name.endswith(".so")]
        self.assertGreaterEqual(set(names), {f"libneon_{name}.so" for name in ("crypto", "curl", "hdf5", "images", "log", "onednn")})
        for name in names:
            with self.subTest(name):
                self.neon("--version", environment={"LD_BIND_NOW": "1", "LD_PRELOAD": os.path.join(MODULES, name)})

    def test_a_file_that_is_no_library(self):
        self.put("hdf5", self.path(self.write("text", "no library")))
        result = self.run_alone("-o", "m.h5", *RUN)
        self.assertEqual(result.code, 1)
        self.assertRegex(result.err.splitlines()[-1], "^neon: metrics files need .*/libneon_hdf5.so, which cannot be opened: "
                         ".*; Debian's libhdf5-dev has the library$")

    def test_a_module_of_another_version(self):
        self.put("hdf5", os.environ["OLD_MODULE"])
        result = self.run_alone("-o", "m.h5", *RUN)
        version = self.neon("--version").out.split()[1]
        self.assertEqual(result.code, 1)
        self.assertRegex(result.err.splitlines()[-1], "^neon: metrics files need .*/libneon_hdf5.so, which is of another version "
                         f"of neon than this program, {re.escape(version)}: install neon as a whole$")


if __name__ == "__main__":
    support.main()
