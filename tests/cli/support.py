"""What the tests of the command line share: folders, specs, data files, the program, reading what it wrote.

A test file ends with support.main(); its last line is then "N passed, N failed".
"""
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.dont_write_bytecode = True
NEON = os.environ["NEON"]
# One thread, unless the caller's OpenMP settings say otherwise: these nets are small, and the machine may be busy.
OPENMP = {name: value for name, value in os.environ.items() if name.startswith("OMP_")} or {"OMP_NUM_THREADS": "1"}
# neon's note in every run if the caller asks for more threads than there are processors.
THREADS_NOTE = re.compile(r"^note: OMP_NUM_THREADS is .*: neon uses \d+ threads?\n", re.M)
# Without run folders, which run_folder_test.py is about: other tests name the files that they look at.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C", "https_proxy": "http://127.0.0.1:1", "NEON_NO_RUN_FOLDER": "1", **OPENMP}

IRIS = """\
dataset: Iris
layers:
  - Affine: {nout: 8, init: Kaiming, activation: Tanh}
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}
batch_size: 16
epochs: 4
"""


def png(image):
    """A PNG of an array (H, W, 3) of bytes."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def png_pixels(content):
    """Pixels (H, W, 3), or (H, W) of a gray one, of a PNG of 8 bits without interlacing, as libpng writes it."""
    import numpy as np
    width, height = struct.unpack(">II", content[16:24])
    numbers = {0: 1, 2: 3}[content[25]]  # of a pixel, by the type of colour
    data, at = b"", 8
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        data += content[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + numbers * width)
    out = np.zeros((height, numbers * width), np.uint8)
    for y, (filtering, *line) in enumerate(lines.tolist()):
        above = out[y - 1].tolist() if y else [0] * (numbers * width)
        for x, byte in enumerate(line):
            left = x - numbers
            a, b, c = (line[left] if left >= 0 else 0), above[x], (above[left] if left >= 0 else 0)
            guess = a + b - c
            paeth = min((abs(guess - a), 0, a), (abs(guess - b), 1, b), (abs(guess - c), 2, c))[2]
            line[x] = (byte + (0, a, b, (a + b) // 2, paeth)[filtering]) % 256
        out[y] = line
    return out.reshape((height, width, 3) if numbers == 3 else (height, width))


class Result:
    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return f"{self.command}\nexit code {self.code}\nstdout: {self.out}\nstderr: {self.err}"


class Case(unittest.TestCase):
    """A test with a folder of its own, in which neon runs."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="neon-cli-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.cache = tempfile.mkdtemp(prefix="neon-cache-")
        self.addCleanup(shutil.rmtree, self.cache)
        # Nothing of the user's is read or written.
        self.environment = {**ENVIRONMENT, "CUDA_VISIBLE_DEVICES": "", "HOME": self.folder, "NEON_CACHE_DIR": self.cache}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return name

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def spec(self, content=IRIS, name="s.yaml", **changes):
        """Writes a spec; changes are top-level keys, whose lines they replace or follow."""
        for key, value in changes.items():
            lines = [line for line in content.splitlines() if not line.startswith(key + ":")]
            content = "\n".join(lines + [f"{key}: {value}", ""])
        return self.write(name, content)

    def neon(self, *arguments, code=0, stdin=None, environment=None, cwd=None, under=()):
        """Runs neon, `under` a command if one is given, and asserts how it ended; with code=None anything but a crash
        will do. The result lacks the note about the caller's threads."""
        done = subprocess.run([*under, NEON, *arguments], cwd=cwd or self.folder, env={**self.environment, **(environment or {})},
                              input=stdin if stdin is not None else b"", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        err = os.fsdecode(done.stderr)
        if "OMP_NUM_THREADS" not in (environment or {}):
            err = THREADS_NOTE.sub("", err, count=1)
        result = Result(arguments, done.returncode, os.fsdecode(done.stdout), err)
        self.assertGreaterEqual(result.code, 0, f"ended by a signal: {result}")
        if code is not None:
            self.assertEqual(result.code, code, str(result))
        return result

    def processor_seconds(self, *arguments):
        """Seconds of a processor that neon takes for it."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.neon(*arguments)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def peak(self, *arguments):
        """Bytes of memory that a run has at most. What is forked begins with its parent's, so that is a small one."""
        parent = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)")
        done = subprocess.run([sys.executable, "-c", parent, NEON, *arguments], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def start(self, *arguments, environment=None, **options):
        return subprocess.Popen([NEON, *arguments], cwd=self.folder, env={**self.environment, **(environment or {})},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def began(self, child):
        """The same child, whose stderr has told of its first epoch."""
        self.addCleanup(child.kill)
        end = time.monotonic() + 30
        while not re.search("epoch +1/", line := child.stderr.readline()):
            self.assertTrue(line and time.monotonic() < end, "it did not begin")
        return child

    def wait_for_saves(self, name):
        """Until a second checkpoint has taken the place of the first, which the run knows of then."""
        seen, end = set(), time.monotonic() + 10
        while len(seen) < 2 and time.monotonic() < end:
            if os.path.exists(self.path(name)):
                seen.add(os.stat(self.path(name)).st_ino)
            time.sleep(0.01)

    def ended(self, child, seconds=10):
        """Exit code, stdout and stderr of a child that must end within so many seconds."""
        before = time.monotonic()
        out, err = child.communicate(timeout=40)
        self.assertLess(time.monotonic() - before, seconds)
        return child.returncode, out, err

    def refused(self, code, *arguments, says, **options):
        """Runs neon, which must end with that code and one message on stderr that has all of `says`."""
        result = self.neon(*arguments, code=code, **options)
        for words in [says] if isinstance(says, str) else says:
            self.assertIn(words, result.err, str(result))
        self.assertEqual(len([line for line in result.err.splitlines() if line.startswith("neon: ")]), 1, str(result))
        return result


def tensors(path):
    """Name to (type, shape, bytes) of a .safetensors file, and its metadata."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    data = content[8 + length:]
    return {name: (item["dtype"], item["shape"], data[slice(*item["data_offsets"])])
            for name, item in header.items()}, metadata


def parts(content):
    """Header text, header as an object, and where each tensor lies in the file, in order."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    places = sorted((8 + length + begin, 8 + length + end, name) for name, item in header.items()
                    if name != "__metadata__" for begin, end in [item["data_offsets"]])
    return content[8:8 + length], header, places


def sealed(header, data):
    """A checkpoint's bytes with right checksums (see neon/train/checkpoint.h)."""
    about = header["__metadata__"]
    about["neon.checksums"] = json.dumps({name: "crc32:%08x" % zlib.crc32(data[slice(*item["data_offsets"])])
                                          for name, item in header.items() if name != "__metadata__"})
    about["neon.header_checksum"] = "crc32:00000000"
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    text = text.replace(b'"neon.header_checksum":"crc32:00000000"',
                        b'"neon.header_checksum":"crc32:%08x"' % zlib.crc32(text))
    return struct.pack("<Q", len(text)) + text + data


def idx(dims, data, kind=8):
    return struct.pack(f">BBBB{len(dims)}I", 0, 0, kind, len(dims), *dims) + data


def write_mnist(case, folder="mnist", train=64, test=20):
    """Four IDX files in MNIST's form: bright where the label says, so that they can be learnt."""
    for name, count in ("train", train), ("t10k", test):
        labels = bytes(i * 7 % 10 for i in range(count))
        images = b"".join(bytes(200 if 70 * label <= p < 70 * label + 60 else (p * 31 + i) % 40 for p in range(784))
                          for i, label in enumerate(labels))
        case.write(f"{folder}/{name}-images-idx3-ubyte", idx([count, 28, 28], images))
        case.write(f"{folder}/{name}-labels-idx1-ubyte", idx([count], labels))


def write_colours(case):
    """80 + 20 images of two classes, told apart by their colour; returns those to train with."""
    import numpy as np
    rng, training = np.random.default_rng(4), []
    for part, count in ("train", 40), ("test", 10):
        for kind, channel in ("blue", 2), ("red", 0):
            for i in range(count):
                image = rng.integers(0, 120, (9, 12, 3), dtype=np.uint8)
                image[:, :, channel] += 60
                case.write(f"colours/{part}/{kind}/{i}.png", png(image))
                if part == "train":
                    training.append(image)
    return np.array(training)


MNIST = """\
dataset: MNIST
layers:
  - Affine: {nout: 10, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}
batch_size: 16
epochs: 2
"""


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    result = unittest.main(module="__main__", exit=False, verbosity=0, argv=sys.argv[:1]).result
    bad = len({test.id().split(" ")[0] for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - bad - skipped} passed, {bad} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(bad != 0)
