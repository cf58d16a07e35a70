#!/usr/bin/python3
"""neon plot --live: two addresses, GET alone, this machine alone; newer data as they come."""
import http.client
import json
import os
import re
import signal
import sys
import threading
import time

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import plot_test  # noqa: E402
import support  # noqa: E402


class Live(support.Case):
    def setUp(self):
        super().setUp()
        self.costs = np.float32([3, 2, np.nan, np.nan])
        plot_test.write_run(self.path("a.h5"), {"cost/train": (self.costs, "minibatch")}, steps=4)
        self.serve("a.h5")

    def serve(self, *paths):
        self.server = self.start("plot", *paths, "--live", "--port", "0")
        self.addCleanup(self.server.stderr.close)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        said = self.server.stderr.readline()
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/ shows the runs; Ctrl-C ends this\n", said)[1])

    def ask(self, path, method="GET", host=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        connection.putrequest(method, path, skip_host=host is not None)
        if host is not None:
            connection.putheader("Host", host)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content.decode()

    def test_the_page_and_its_data(self):
        answer, page = self.ask("/")
        self.assertEqual((answer.status, answer.getheader("X-Frame-Options")), (200, "DENY"))
        self.assertIn('data-live="true"', page)
        self.assertIn("connect-src 'self'", page)
        answer, content = self.ask("/data.json")
        self.assertEqual(answer.getheader("Cache-Control"), "no-store")
        (curve,) = [each for each in json.loads(content)["runs"][0]["curves"] if each["name"] == "cost/train"]
        self.assertEqual(curve["points"], 2)

    def test_newer_data(self):
        self.ask("/data.json")
        with h5py.File(self.path("a.h5"), "r+") as file:
            file["cost/train"][2] = 1
        time.sleep(1.1)  # data are read at most once a second
        (curve,) = [each for each in json.loads(self.ask("/data.json")[1])["runs"][0]["curves"] if each["name"] == "cost/train"]
        self.assertEqual(curve["points"], 3)

    def test_no_other_path_and_no_other_method(self):
        self.write("secret.txt", "secret")
        for path in "/secret.txt", "/a.h5", "/../a.h5", "/%2e%2e/a.h5", "//etc/passwd", "/data.json/../a.h5", "/dataxjson", "/data.json/":
            answer, content = self.ask(path)
            self.assertEqual(answer.status, 404, path)
            self.assertNotIn("secret", content)
        for method in "POST", "PUT", "DELETE", "OPTIONS", "PATCH":
            self.assertEqual(self.ask("/", method, body=b"")[0].status, 405, method)

    def test_a_site_cannot_ask_by_a_name_of_its_own(self):
        for host in f"evil.example:{self.port}", "evil.example", "127.0.0.1.evil.example", "":
            self.assertEqual(self.ask("/data.json", host=host)[0].status, 403, host)
        for host in f"localhost:{self.port}", f"127.0.0.1:{self.port}":
            self.assertEqual(self.ask("/data.json", host=host)[0].status, 200, host)

    def test_a_file_that_is_gone_is_an_answer(self):
        os.remove(self.path("a.h5"))
        time.sleep(1.1)
        answer, content = self.ask("/data.json")
        self.assertEqual(answer.status, 503)
        self.assertIn("a.h5", content)

    def test_ctrl_c_ends_it(self):
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.server.wait(10), 0)

    def test_a_run_that_is_damaged_for_a_while(self):
        """The page waits, and goes on with all runs once it is whole again."""
        whole = self.read("a.h5")
        self.write("b.h5", whole)
        self.serve("a.h5", "b.h5")
        names = lambda: [run["name"] for run in json.loads(self.ask("/data.json")[1])["runs"]]
        self.assertEqual(names(), ["a", "b"])
        self.write("b.h5", whole[:1000])
        time.sleep(1.1)  # data are read at most once a second
        self.assertEqual(self.ask("/data.json")[0].status, 503)
        self.write("b.h5", whole)
        time.sleep(1.1)
        self.assertEqual(names(), ["a", "b"])

    def test_refusals(self):
        self.refused(1, "plot", "a.h5", "--live", "--port", str(self.port), says=[f"cannot listen on 127.0.0.1 port {self.port}: another program may have it", "--port"])
        # An address for documents (RFC 5737), and a name that never is one (RFC 6761).
        self.refused(1, "plot", "a.h5", "--live", "--port", "0", "--host", "192.0.2.1", says=["192.0.2.1 port 0: this machine has no such address", "--host"])
        err = self.refused(1, "plot", "a.h5", "--live", "--host", "no.invalid", says=["no.invalid port 8470: no address of that name is found", "--host"]).err
        self.assertNotIn("another program", err)
        self.refused(2, "plot", "a.h5", "--live", "--csv", says="--live serves the page")
        self.refused(2, "plot", "a.h5", "--port", "1", says="add --live")


class LiveViews(support.Case):
    """Pictures and evaluation of a run that goes on, and of the same run when it has ended."""
    SPEC = """\
dataset: {ImageFolder: {path: colours, size: 8}}
layers:
  - Conv: {fshape: 3, nofm: 4, padding: 1, init: Kaiming, activation: Rectlin}
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {SGD: {learning_rate: 0.001}}
batch_size: 8
epochs: 1000000
"""

    def run_shown(self, wanted):
        """The run of data.json, as soon as `wanted` holds for it."""
        end = time.monotonic() + 90
        while time.monotonic() < end:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
            connection.request("GET", "/data.json")
            run = json.loads(connection.getresponse().read())["runs"][0]
            connection.close()
            if wanted(run):
                return run
            time.sleep(0.2)
        self.fail(f"not shown: status {run['status']}, sheets {[each['title'] for each in run['sheets']]}, evaluation {run['evaluation']}")

    def test_pictures_while_a_run_goes_on(self):
        support.write_colours(self)
        del self.environment["NEON_NO_RUN_FOLDER"]
        training = self.start("-r", "1", "--eval_freq", "1", self.write("s.yaml", self.SPEC))
        self.addCleanup(training.kill)
        self.began(training)
        # It tells of thousands of epochs, and would wait for a reader.
        reader = threading.Thread(target=training.stderr.read)
        reader.start()
        self.addCleanup(reader.join)
        self.addCleanup(training.kill)
        server = self.start("plot", "runs/s-1", "--live", "--port", "0")
        for stop in server.stderr.close, server.stdout.close, server.wait, server.kill:
            self.addCleanup(stop)
        said = next(line for line in server.stderr if not line.startswith("note: "))  # the run may have no curves yet
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/ shows the runs; Ctrl-C ends this\n", said)[1])
        run = self.run_shown(lambda run: run["evaluation"] and len(run["sheets"]) >= 3)
        self.assertEqual((run["status"], run["evaluation"]["note"]), ("running", "The best checkpoint so far; the run goes on."))
        self.assertEqual([each["title"] for each in run["sheets"][:3]], ["Predictions", "Worst samples", "Filters of Conv_0"])
        self.assertTrue(run["net"]["boxes"])
        training.send_signal(signal.SIGINT)
        training.wait(90)
        run = self.run_shown(lambda run: run["status"] != "running" and run["sheets"])
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(10), 0)

    def test_each_note_is_said_once(self):
        """The runs are read again for each answer: here a checkpoint beside what an interrupted save left over."""
        self.spec()
        self.neon("s.yaml", "-r", "1", "-e", "1", "-s", "m.safetensors")
        self.write("m.safetensors.part", "")
        server = self.start("plot", "m.safetensors", "--live", "--port", "0")
        self.addCleanup(server.kill)
        lines = []
        while not lines or "shows the runs" not in lines[-1]:
            lines.append(server.stderr.readline())
        self.port = int(re.search(r":(\d+)/", lines[-1])[1])
        for _ in range(2):
            self.run_shown(lambda run: run["curves"] is not None)
            time.sleep(1.1)  # data are read at most once a second
        server.send_signal(signal.SIGINT)
        lines += server.communicate(timeout=30)[1].splitlines(keepends=True)
        left_over = [line for line in lines if "m.safetensors.part is left over" in line]
        self.assertEqual((len(left_over), len(set(lines))), (1, len(lines)), lines)


if __name__ == "__main__":
    support.main()
