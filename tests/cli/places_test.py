#!/usr/bin/python3
"""The places for the data of a checkpoint. A user's own checkpoint names data anywhere; one from somebody else only in
its folder, the current one, the folder of data sets, and what the command line names."""
import hmac
import os
import re
import stat
import unittest

import numpy as np

import support
from support import IRIS, MNIST, Case, parts, png, sealed, write_mnist

ROWS = "".join(f"{i % 7},{i % 5},{'ab'[i % 7 > 3]}\n" for i in range(60))
SPEC = IRIS.replace("dataset: Iris", "dataset: {CSV: {path: PATH, test: 0.2}}").replace("nout: 3", "nout: 2").replace("epochs: 4", "epochs: 1")
OPTIONS = ["-w", "--set dataset.path="]


class Places(Case):
    def setUp(self):
        super().setUp()
        for folder in "mine", "elsewhere", "other":
            os.mkdir(self.path(folder))
        self.write("elsewhere/x.csv", ROWS)
        self.stranger = {"NEON_CACHE_DIR": self.path("cache-of-somebody-else")}

    def trained(self, path, *options, where="mine", spec=SPEC, **changes):
        """A checkpoint in the folder `mine`, of a run in `where` whose spec names that path."""
        self.spec(spec.replace("PATH", path), name="s.yaml", **changes)
        self.neon("-r", "1", "-s", self.path("mine/m.safetensors"), *options, "../s.yaml", cwd=self.path(where))
        return "../mine/m.safetensors"

    def forged(self, path="", spec=None, **options):
        """The checkpoint with another path of its data, and other options."""
        content = self.read("mine/m.safetensors")
        text, header, _ = parts(content)
        about = header["__metadata__"]
        if spec or path:
            about["neon.spec"] = re.sub(r"(?sm)^dataset:.*?(?=^[a-z])", (spec or f"dataset: {{CSV: {{path: '{path}', test: 0.2}}}}") + "\n",
                                        about["neon.spec"])
        for key, value in options.items():
            about["neon.options"] = re.sub(rf"(?m)^{key}:.*", f"{key}: '{value}'", about["neon.options"])
        os.makedirs(self.path("foreign"), exist_ok=True)
        self.write("foreign/f.safetensors", sealed(header, content[8 + len(text):]))
        return "../foreign/f.safetensors"

    def verbs(self, path):
        return ["eval", path], ["resume", "-e", "2", path]

    def is_refused(self, path, *, says, **options):
        before = self.read(os.path.join("other", path))
        for verb in self.verbs(path):
            result = self.refused(2, *verb, cwd=self.path("other"), says=[path, "outside its own folder", *says], **options)
            self.assertEqual((result.out, len(result.err.splitlines())), ("", 1), str(result))
        self.assertEqual(self.read(os.path.join("other", path)), before)

    def test_own_checkpoint_finds_its_data_anywhere(self):
        for path, where in (self.path("elsewhere/x.csv"), "mine"), ("x.csv", "elsewhere"), ("../elsewhere/x.csv", "mine"):
            with self.subTest(path):
                checkpoint = self.trained(path, where=where)
                for verb in ["eval", checkpoint], ["resume", "-e", "2", checkpoint], ["eval", checkpoint]:
                    self.neon(*verb, cwd=self.path("other"))
        key = os.path.join(self.cache, "own-key")
        self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
        # A key that others can read, a link, or another text seals nothing.
        with open(key) as file:
            content = file.read()
        os.chmod(key, 0o644)
        self.is_refused(checkpoint, says=OPTIONS)
        os.remove(key)
        self.write("copy", content)
        os.chmod(self.path("copy"), 0o600)
        os.symlink(self.path("copy"), key)
        self.is_refused(checkpoint, says=OPTIONS)
        os.remove(key)
        self.write(key, content[::-1])
        os.chmod(key, 0o600)
        self.is_refused(checkpoint, says=OPTIONS)
        self.write(key, content)
        self.neon("eval", checkpoint, cwd=self.path("other"))

    def test_the_seal_is_an_hmac(self):
        self.trained(self.path("elsewhere/x.csv"))
        about = parts(self.read("mine/m.safetensors"))[1]["__metadata__"]
        with open(os.path.join(self.cache, "own-key"), "rb") as file:
            key = file.read()
        sealed_text = f"{len(about['neon.spec'].encode())}\n{about['neon.spec']}{about['neon.options']}"
        self.assertEqual(about["neon.seal"], hmac.new(key, sealed_text.encode(), "sha256").hexdigest())

    def test_checkpoint_of_somebody_else_is_refused(self):
        for path, where in (self.path("elsewhere/x.csv"), "mine"), ("x.csv", "elsewhere"), ("../elsewhere/x.csv", "mine"):
            with self.subTest(path):
                checkpoint = self.trained(path, where=where)
                target = self.path("elsewhere")
                self.is_refused(checkpoint, says=[target + "/x.csv", "-w " + target, "--set dataset.path="], environment=self.stranger)
                # Both options that the message names mend it.
                said = self.neon("eval", checkpoint, cwd=self.path("other"), environment=self.stranger, code=2).err
                folder, setting = re.search(r"give -w (\S+) or --set (\S+)\n", said).groups()
                for option in ["-w", folder], ["--set", setting]:
                    self.assertIn("x.csv", self.neon("eval", *option, checkpoint, cwd=self.path("other"), environment=self.stranger).out)

    def test_paths_of_a_forged_checkpoint(self):
        self.trained(self.path("elsewhere/x.csv"))
        os.makedirs(self.path("foreign/sub"))
        os.symlink(self.path("elsewhere/x.csv"), self.path("foreign/link.csv"))
        os.symlink(self.path("elsewhere"), self.path("foreign/sub/folder"))
        os.symlink("/", self.path("foreign/root"))
        secret, foreign = self.path("elsewhere/x.csv"), self.path("foreign")
        for path, options in ((secret, {}), ("x.csv", {"run_dir": self.path("elsewhere")}), ("x.csv", {"spec_dir": self.path("elsewhere")}),
                              ("x.csv", {"data_dir": self.path("elsewhere")}), ("link.csv", {"spec_dir": foreign}),
                              ("sub/folder/x.csv", {"spec_dir": foreign}), ("../elsewhere/x.csv", {}), (f"root{secret}", {"spec_dir": foreign}),
                              (f"{foreign}/../elsewhere/x.csv", {}), (f"/proc/self/root{secret}", {}), ("~/elsewhere/x.csv", {}),
                              ("elsewhere/x.csv", {"spec_dir": "/proc/self/cwd/.."}), ("/dev/stdin", {}), ("/etc/passwd", {}),
                              (f"{self.cache}/../{os.path.basename(self.folder)}/elsewhere/x.csv", {})):
            with self.subTest(path, **options):
                self.is_refused(self.forged(path, **options), says=OPTIONS)

    def test_folders_and_archives_of_a_forged_checkpoint(self):
        self.trained(self.path("elsewhere/x.csv"))
        image = png(np.zeros((2, 1, 3), np.uint8))
        for name in "elsewhere/a/1.png", "elsewhere/b/1.png", "foreign/images/a/1.png", "foreign/list/a.png":
            self.write(name, image)
        os.symlink(self.path("elsewhere/b"), self.path("foreign/images/b"))
        os.symlink(self.path("elsewhere/b/1.png"), self.path("foreign/list/b.png"))
        self.write("foreign/list/list.csv", "a.png,a\nb.png,b\n")
        self.write("elsewhere/1.tar", b"")
        os.symlink(self.path("elsewhere/1.tar"), self.path("foreign/1.tar"))
        write_mnist(self, "elsewhere/mnist")
        os.makedirs(self.path("foreign/mnist"))
        for name in os.listdir(self.path("elsewhere/mnist")):
            os.symlink(self.path("elsewhere/mnist/" + name), self.path("foreign/mnist/" + name))
        where = {"spec_dir": self.path("foreign")}
        for spec, options in (("ImageFolder: {path: %s}" % self.path("elsewhere"), {}), ("ImageFolder: {path: images}", where),
                              ("ImageFolder: {path: '*.tar'}", where), ("ImageFolder: {path: '../else*/?.tar'}", where), ("ImageFolder: {path: '{1,2}.tar'}", where),
                              ("ImageList: {path: list/list.csv}", where), ("ImageList: {path: list/list.csv, root: ../elsewhere}", where),
                              ("Shards: {path: %s}" % self.path("elsewhere"), {}), ("NPZ: {path: %s/x.npz}" % self.path("elsewhere"), {}),
                              ("HDF5: {train: %s/x.h5}" % self.path("elsewhere"), {}), ("MNIST: {}", {"data_dir": self.path("elsewhere")}),
                              ("MNIST: {}", {"data_dir": self.path("foreign")}), ("CIFAR10: {}", {"data_dir": self.path("elsewhere")})):
            with self.subTest(spec, **options):
                self.is_refused(self.forged(spec=f"dataset: {{{spec}}}", **options), says=["-w"])

    def test_allowed_places(self):
        self.trained(self.path("elsewhere/x.csv"))
        for folder in "foreign/data", "other/data", "sets/data":
            self.write(folder + "/x.csv", ROWS)
        for path, options, environment in (
                (self.path("foreign/data/x.csv"), [], {}), (self.path("other/data/x.csv"), [], {}), ("data/x.csv", [], {}),
                (self.path("sets/data/x.csv"), ["-w", "../sets"], {}), ("data/x.csv", ["-w", "../sets"], {}),
                (self.path("sets/data/x.csv"), [], {"NEON_DATA_DIR": self.path("sets")})):
            with self.subTest(path, options=options, **environment):
                checkpoint = self.forged(path)
                for verb in self.verbs(checkpoint):
                    self.neon(*verb, *options, cwd=self.path("other"), environment={**self.stranger, **environment})

    def test_a_resumed_run_does_not_make_the_paths_of_somebody_else_its_own(self):
        self.trained(self.path("elsewhere/x.csv"))
        self.write("other/x.csv", ROWS)
        checkpoint = self.forged("x.csv", run_dir=self.path("elsewhere"), spec_dir=self.path("elsewhere"))
        self.neon("resume", "-e", "2", checkpoint, cwd=self.path("other"))
        stored = parts(self.read("foreign/f.safetensors"))[1]["__metadata__"]["neon.options"]
        self.assertNotIn(self.path("elsewhere"), stored)
        self.neon("eval", checkpoint, cwd=self.path("mine"))
        os.remove(self.path("other/x.csv"))
        self.refused(3, "eval", checkpoint, cwd=self.path("mine"), says="no such file")

    def test_built_in_data_need_no_place(self):
        self.trained("", spec=IRIS)
        checkpoint = self.forged(data_dir=self.path("elsewhere"), run_dir="/etc", spec_dir="/etc")
        for verb in self.verbs(checkpoint):
            self.neon(*verb, cwd=self.path("other"))

    def test_without_a_place_for_the_key(self):
        self.write("other/x.csv", ROWS)
        nowhere = {"NEON_CACHE_DIR": "/dev/null"}
        self.spec(SPEC.replace("PATH", "x.csv"))
        self.neon("-s", "m.safetensors", "../s.yaml", cwd=self.path("other"), environment=nowhere)
        self.neon("eval", "m.safetensors", cwd=self.path("other"), environment=nowhere)


if __name__ == "__main__":
    support.main()
