#!/usr/bin/python3
"""TensorBoard's event files, read by a reader of their own: TFRecord with CRC-32C around protobuf."""
import glob
import os
import signal
import struct
import time

import h5py
import numpy as np

import support
from protobuf import fields
from support import IRIS, Case


def crc32c(content):
    crc = 0xffffffff
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(content):
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def events(path):
    """[(step, fields)] of a file whose checksums are right."""
    with open(path, "rb") as file:
        content, at, out = file.read(), 0, []
    while at < len(content):
        length = content[at:at + 8]
        size = struct.unpack("<Q", length)[0]
        assert struct.unpack("<I", content[at + 8:at + 12])[0] == masked(length)
        event = content[at + 12:at + 12 + size]
        assert struct.unpack("<I", content[at + 12 + size:at + 16 + size])[0] == masked(event)
        named = dict(fields(event))
        out.append((named.get(2, 0), named))
        at += 16 + size
    return out


def scalars(path):
    """{name: [(step, value)]}"""
    out = {}
    for step, event in events(path):
        for _, value in fields(event.get(5, b"")):
            named = dict(fields(value))
            out.setdefault(named[1].decode(), []).append((step, struct.unpack("<f", named[2])[0]))
    return out


class Events(Case):
    def test_the_checksum(self):
        self.assertEqual(crc32c(b"123456789"), 0xe3069283)  # of the Castagnoli polynomial, RFC 3720

    def test_events_are_the_numbers_of_the_metrics_file(self):
        self.neon("-r", "1", "--eval_freq", "1", "-o", "run.h5", self.spec(callbacks="[TensorBoard: {every: 3}]"))
        (path,) = glob.glob(self.path("tensorboard/events.out.tfevents.*"))
        first = events(path)[0][1]
        self.assertEqual(first[3], b"brain.Event:2")
        self.assertLess(abs(struct.unpack("<d", first[1])[0] - os.path.getmtime(path)), 60)
        found = scalars(path)
        with h5py.File(self.path("run.h5")) as file:
            costs, evaluated = file["cost/train"][:], [8, 16, 24, 32]
            self.assertEqual(found["cost/train"], [(step, np.float32(costs[step - 1])) for step in range(3, 33, 3)])
            for name, series in ("epoch/cost", "epoch/cost"), ("cost/evaluation", "cost/loss"), ("metrics/Top1Misclass", "metrics/Top1Misclass"):
                self.assertEqual([step for step, _ in found[name]], evaluated, name)
                np.testing.assert_allclose([value for _, value in found[name]], file[series][:], rtol=1e-6)
        np.testing.assert_allclose([value for _, value in found["epoch/learning_rate"]], 0.1, rtol=1e-6)

    def test_a_resumed_run_says_from_where(self):
        del self.environment["NEON_NO_RUN_FOLDER"]
        self.neon("-r", "1", "-e", "2", self.spec(callbacks="[TensorBoard: {every: 0}]"))
        self.neon("resume", "-e", "4")
        one, two = sorted(glob.glob(self.path("runs/s-1/events.out.tfevents.*")), key=lambda path: (len(path), path))
        self.assertEqual([step for step, _ in scalars(one)["epoch/cost"]], [8, 16])
        self.assertEqual([step for step, _ in scalars(two)["epoch/cost"]], [24, 32])
        (start,) = [(step, event[7]) for step, event in events(two) if 7 in event]
        self.assertEqual((start[0], fields(start[1])), (24, [(1, 1)]))
        self.assertNotIn("cost/train", scalars(one))

    def test_a_run_stopped_amid_an_epoch_leaves_its_points(self):
        spec = self.write("s.yaml", "dataset: {UniformRandom: {ntrain: 200000, ntest: 8, nin: 4, nout: 2}}\nlayers:\n"
                          "  - Affine: {nout: 2, init: Kaiming, activation: Softmax}\ncost: CrossEntropyMulti\noptimizer: Adam\n"
                          "batch_size: 1\nepochs: 1\ncallbacks: [TensorBoard: {every: 7}]\n")
        child = self.start("-r", "1", "-o", "run.h5", "-s", "m", spec)
        end = time.monotonic() + 30
        while not (found := glob.glob(self.path("tensorboard/events.*"))) or os.path.getsize(found[0]) < 1000:
            self.assertLess(time.monotonic(), end)  # nor does it wait for the epoch's end
            time.sleep(0.01)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(timeout=30), 143, child.communicate())
        with h5py.File(self.path("run.h5")) as file:
            costs = file["cost/train"][:]
        done = int(np.isfinite(costs).sum())
        self.assertTrue(7 < done < 200000, done)
        self.assertEqual(scalars(found[0])["cost/train"], [(step, np.float32(costs[step - 1])) for step in range(7, done + 1, 7)])

    def test_one_rank_writes_and_no_failure_ends_a_run(self):
        self.neon("-m", "2", self.spec(callbacks="[TensorBoard: {folder: here}]"))
        self.assertEqual(len(os.listdir(self.path("here"))), 1)
        self.write("file", "")
        said = self.neon(self.spec(callbacks="[TensorBoard: {folder: file/in}]")).err
        self.assertEqual(said.count("warning: TensorBoard: "), 1, said)
        self.assertIn("; training goes on\n", said)


if __name__ == "__main__":
    support.main()
