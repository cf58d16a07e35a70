#!/usr/bin/python3
"""Wrong data files: each ends with exit code 3 and a message that names the file and its fault."""
import gzip
import os
import re
import subprocess
import sys

import support
from support import IRIS, MNIST, Case, idx, write_mnist


class DataFiles(Case):
    """MNIST's files, each time with something wrong."""

    def setUp(self):
        super().setUp()
        write_mnist(self)
        self.spec(MNIST)

    def check(self, name, content, *says, verbs=("train", "check")):
        self.write("mnist/" + name, content)
        for verb in verbs:
            self.refused(3, *([] if verb == "train" else [verb]), "-w", self.folder, "s.yaml", says=[name, *says])

    def images(self):
        return self.read("mnist/train-images-idx3-ubyte")

    def test_sound(self):
        self.neon("-w", self.folder, "s.yaml")

    def test_missing(self):
        os.remove(self.path("mnist/t10k-labels-idx1-ubyte"))
        result = self.refused(3, "-w", self.folder, "s.yaml", says=["MNIST", "t10k-labels", "to get it"])
        self.assertEqual(result.out, "")

    def test_truncated(self):
        self.check("train-images-idx3-ubyte", self.images()[:-1], "50175", "50176")
        self.check("train-images-idx3-ubyte", self.images()[:7], "truncated", "header of 16 bytes")
        self.check("train-images-idx3-ubyte", b"", "IDX")

    def test_longer_than_it_says(self):
        self.check("train-images-idx3-ubyte", self.images() + b"more", "after its last element")

    def test_wrong_magic(self):
        self.check("train-images-idx3-ubyte", b"\x01" + self.images()[1:], "not an IDX file")

    def test_html_saved_as_data(self):
        page = "<!DOCTYPE html><html><head><title>403 Forbidden</title></head></html>"
        for name in "train-images-idx3-ubyte", "train-labels-idx1-ubyte":
            sound = self.read("mnist/" + name)
            self.check(name, page, "HTML page")
            self.write("mnist/" + name, sound)
        self.check("t10k-labels-idx1-ubyte", page, "HTML")

    def test_truncated_gzip(self):
        os.remove(self.path("mnist/train-images-idx3-ubyte"))
        self.check("train-images-idx3-ubyte.gz", gzip.compress(self.images_of_noise())[:-9], verbs=["train"])

    def images_of_noise(self):
        return idx([64, 28, 28], os.urandom(64 * 784))

    def test_label_out_of_range(self):
        self.check("train-labels-idx1-ubyte", idx([64], bytes([3] * 9 + [10] + [1] * 54)), "label 9 is 10", "0 to 9",
                   verbs=["train"])

    def test_counts_differ(self):
        self.check("train-labels-idx1-ubyte", idx([63], bytes(63)), "64 images", "63 labels")

    def test_wrong_shape(self):
        self.check("train-images-idx3-ubyte", idx([64, 8, 8], bytes(4096)), "28 x 28")

    def test_sizes_that_no_file_has(self):
        self.check("train-images-idx3-ubyte", idx([2**32 - 1, 2**31, 2**31], b""))

    def test_unreadable(self):
        os.remove(self.path("mnist/train-images-idx3-ubyte"))
        os.mkdir(self.path("mnist/train-images-idx3-ubyte"))
        self.refused(3, "-w", self.folder, "s.yaml", says="mnist")


class Tables(Case):
    def refuse_table(self, content, *says, **options):
        self.write("t.csv", content)
        settings = ", ".join(f"{key}: {value}" for key, value in {"path": "t.csv", **options}.items())
        spec = self.spec(IRIS.replace("nout: 3", "nout: 2"), dataset="{CSV: {%s}}" % settings, batch_size="2")
        self.refused(3, spec, says=["t.csv", *says])

    def test_bad_cells(self):
        self.refuse_table("1,2,a\n3,x,b\n5,6,a\n", "t.csv:2", "'x'", header="false")
        self.refuse_table("1,2,a\n3,b\n5,6,a\n", "t.csv:2")
        self.refuse_table("1,2,a\n3,nan,b\n5,6,a\n", "t.csv:2", impute="false")
        self.refuse_table("", "t.csv")
        self.refuse_table("a,b,c\n", "t.csv")
        self.refuse_table("\0\0\0", "t.csv")
        self.refuse_table("<html><body>404</body></html>", "t.csv")
        self.refuse_table(b"1,2,caf\xe9\n3,4,b\n5,6,b\n", "t.csv:1:5", "the target 'caf\\xe9' is not UTF-8", header="false")
        self.refuse_table('1,"2\nneon: done\033[31m",a\n3,4,b\n', "t.csv:1", "found '2\\nneon: done\\x1b[31m'", header="false", columns='{"1": number}')


    def test_memory_of_hostile_tables(self):
        """Twice the commas, quotes or empty lines take at most 2.5 times the memory; what neon itself takes is little."""
        measure = ["/usr/bin/python3", "-c", "import resource, subprocess, sys\ncode = subprocess.call(sys.argv[1:])\n"
                   "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\nsys.exit(code)"]
        spec = self.spec(IRIS, dataset="{CSV: {path: t.csv, header: false}}")
        for part in b",", b"\n", b'"', b"1", b"1,2,3\n":
            peaks = []
            for size in 15_000_000, 30_000_000:
                self.write("t.csv", b"x" + part * (size // len(part)))
                result = self.neon("check", spec, code=None, under=measure)
                self.assertIn(result.code, (2, 3), str(result))
                peaks.append(int(re.search(r"peak (\d+)", result.err)[1]))
            self.assertLess(peaks[1], 2.5 * peaks[0], part)
            self.assertLess(peaks[1], 500_000, part)

    def test_columns(self):
        """However many they are, and whatever they are called."""
        names = ['"a\nneon: all is well"'] + [f"c{i}" for i in range(5000)]
        self.write("t.csv", ",".join(names) + "\n" + ("1," * 5000 + "1\n") * 3)
        for verb in [], ["check"]:
            self.refused(2, *verb, self.spec(dataset='{CSV: {path: ""}}'), says="s.yaml:8:10: dataset: the name of a file is empty")
        result = self.refused(2, self.spec(IRIS, dataset="{CSV: {path: t.csv, target: nope}}"),
                              says=["t.csv has no column 'nope'", r"'a\nneon: all is well', 'c0'", "and 4981 more"])
        self.assertLess(len(result.err), 500)

    def test_what_is_no_file(self):
        os.mkfifo(self.path("pipe.csv"))
        for path in "pipe.csv", "/dev/zero":
            self.refused(3, self.spec(dataset="{CSV: {path: %s}}" % path), says=[path, "this is a pipe or a device"])


if __name__ == "__main__":
    support.main()
