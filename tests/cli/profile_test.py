#!/usr/bin/python3
"""neon bench -v and --profile: times of layers and kernels, how much they compute and move, and the ceiling."""
import json
import re

import support
from support import Case


class Profile(Case):
    said, events = "", []

    def setUp(self):
        super().setUp()
        if Profile.events:
            return
        Profile.said = self.neon("bench", self.spec(), "-b", "cpu", "--iterations", "5", "-v", "--profile", "p.json").out
        Profile.events = json.loads(self.read("p.json"))["traceEvents"]
        # Its own kind of file is replaced.
        self.neon("bench", self.spec(), "-b", "cpu", "--iterations", "2", "--profile", "p.json")

    def test_events_have_the_work_of_their_kernels(self):
        # Iris in batches of 16: products of (16,4), (8,4) and of (16,8), (3,8), forward and for the weights.
        flops = {}
        for event in self.events:
            if event["name"].startswith("matmul"):
                flops.setdefault(event["args"]["layer"], []).append(event["args"]["flops"])
        self.assertEqual(flops, {"Affine_0": [2 * 16 * 4 * 8] * 2, "Affine_1": [2 * 16 * 8 * 3] * 3})
        first = next(event for event in self.events if event["args"]["layer"] == "Affine_0" and event["name"].startswith("matmul"))
        self.assertGreaterEqual(first["args"]["bytes"], 4 * (16 * 4 + 8 * 4 + 16 * 8))
        self.assertLessEqual(first["args"]["bytes"], 4 * (16 * 4 + 8 * 4 + 16 * 8 + 8))
        # A batch is 16 rows of the set, not the whole of its 120.
        for event in self.events:
            self.assertLess(event["args"]["bytes"], 16 * 1024, event)

    def test_events_follow_one_another(self):
        at = 0
        for event in self.events:
            self.assertEqual(event["ph"], "X")
            self.assertAlmostEqual(event["ts"], at, places=6)
            self.assertGreater(event["dur"], 0)
            at += event["dur"]

    def test_tables_add_up(self):
        product, sums = map(float, re.search(r"ceiling: ([\d.]+) GFLOP/s in a large product, ([\d.]+) GB/s", self.said).groups())
        self.assertTrue(product > 0.1 and sums > 0.1)
        layers, kernels = re.split(r"\d+ kernels, median times:\n", self.said.split(" layers:\n")[1])
        for table in layers, kernels:
            rows = re.findall(r"(?m)^ *([\d.]+) +([\d.]+) % +([\d.]+) +([\d.]+) +(\d+) %  (.*)$", table)
            self.assertEqual([float(row[0]) for row in rows], sorted((float(row[0]) for row in rows), reverse=True))
            self.assertAlmostEqual(sum(float(row[1]) for row in rows), 100, delta=0.06 * len(rows))
            whole = sum(event["dur"] for event in self.events) / 1000
            self.assertAlmostEqual(sum(float(row[0]) for row in rows), whole, delta=6e-5 * len(rows))
        self.assertEqual(len(rows), len(self.events))

    def test_only_a_profile_is_replaced(self):
        self.write("other.json", "{}\n[]\n")
        self.refused(3, "bench", self.spec(), "-b", "cpu", "--profile", "other.json", says="is no profile")
        self.assertEqual(self.read("other.json"), b"{}\n[]\n")
        for content in "mine", '{"traceEvents": []}', '{\n "displayTimeUnit": "ms"}\n':
            self.write("one.json", content)
            self.refused(3, "bench", self.spec(), "-b", "cpu", "--profile", "one.json",
                         says="one.json exists and is no profile of neon bench; give another name, remove it, or give --overwrite")
            self.assertEqual(self.read("one.json"), content.encode())
        self.neon("bench", self.spec(), "-b", "cpu", "--iterations", "2", "--profile", "one.json", "--overwrite")
        self.assertIn("traceEvents", json.loads(self.read("one.json")))

    def test_a_profile_in_a_folder_to_be_made(self):
        self.neon("bench", self.spec(), "-b", "cpu", "--iterations", "2", "--profile", "of/today/p.json")
        self.assertIn("traceEvents", json.loads(self.read("of/today/p.json")))


support.main()
