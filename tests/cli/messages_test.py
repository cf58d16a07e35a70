#!/usr/bin/python3
"""Messages of a run: its log, its results, and its line on a terminal."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import support
from support import NEON, Case, tensors


class Log(Case):
    def test_log_file(self):
        self.neon("-l", "my.log", self.spec(epochs="2"))
        lines = self.read("my.log").decode().splitlines()
        self.assertEqual(len([line for line in lines if re.search(r"epoch \d/2  cost", line)]), 2, lines)
        self.neon("--no_progress_bar", "-l", self.spec(epochs="1"))
        self.assertIn("epoch 1/1", self.read("neon_log.txt").decode())
        self.refused(1, "-l", "/proc/none/log", self.spec(), says="the log file cannot be opened")

    def test_metrics_without_test_samples_are_said_not_to_be_computed(self):
        note = "note: metrics are not computed, as the data set has no test samples"
        drawn = "dataset: {UniformRandom: {nin: [5], nout: 3, ntrain: 64, ntest: %d}}\n" \
                "layers: [Affine: {nout: 3, init: {Constant: 0}, activation: Softmax}]\n" \
                "cost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 16\n"
        self.write("none.yaml", drawn % 0 + "metrics: [Misclassification]\n")
        for arguments in ["check", "none.yaml"], ["-e", "1", "-s", "m.safetensors", "none.yaml"]:
            self.assertEqual(self.neon(*arguments).err.count(note), 1)
        self.assertNotIn(note, self.neon("resume", "m.safetensors", "-e", "2").err)
        self.write("default.yaml", drawn % 0)
        self.write("some.yaml", drawn % 16 + "metrics: [Misclassification]\n")
        for spec in "default.yaml", "some.yaml":
            self.assertNotIn(note, self.neon("check", spec).err + self.neon("-e", "1", spec).err)

    def test_a_missing_file_comes_first(self):
        """Before other complaints about the same line."""
        self.write("mine.png", "x")
        self.write("here.csv", "1,2,3,4\n")
        for line in ("eval none.safetensors --count 3", "eval none.yaml", "resume none.yaml", "none.safetensors",
                     "check none.safetensors", "predict none.yaml here.csv", "predict none.safetensors here.csv --sheet a.jpg",
                     "export none.safetensors", "sample none.safetensors --beam 2 --top_k 3", "plot none --csv --text",
                     "data preview none.yaml mine.png", "data preview none.yaml a.jpg", "data pack none out --size 3",
                     "bench none.yaml --profile mine.png", "none.yaml -s mine.png", "new photos none --set epochs=3",
                     "new table none.csv a --set dataset.tset=3"):
            name = next(word for word in line.split() if word.startswith("none"))
            self.assertRegex(self.neon(*line.split(), code=None).err, rf"(?i)^neon: (cannot read )?{name}: (there is )?no such", line)

    def test_files_that_are_something_else_are_not_written_into(self):
        spec, rows = self.spec(), "1,2,a\n1,3,b\n"
        self.neon("-e", "1", "-s", "m.safetensors", "-l", "log", spec)
        self.write("rows.csv", rows)
        self.write("short", "x")
        self.write("numbers.json", "[1234, 5678]\n")
        for name in "m.safetensors", "rows.csv", "short", "numbers.json", "s.yaml":
            content = self.read(name)
            self.refused(3, f"--log={name}", self.spec(name="other.yaml"), says=[f"-l {name} is there and is no log"])
            self.assertEqual(self.read(name), content)
        self.refused(3, "-s", "rows.csv", spec, says=["-s rows.csv exists and is no checkpoint"])
        self.refused(3, "resume", "-e", "2", "m.safetensors", "-s", "rows.csv", says=["-s rows.csv exists and is no checkpoint"])
        self.assertEqual(self.read("rows.csv").decode(), rows)
        # A log goes on, an empty file becomes one, and a checkpoint may have any name.
        self.write("empty", "")
        for log in "log", "empty":
            self.neon("-e", "1", "-s", "m", "-l", log, spec)
        self.assertEqual(self.read("log").decode().count("trained 1 epoch in"), 2)
        self.neon("-e", "1", "-s", "m", spec)

    def test_log_file_says_what_was_run_and_what_came_out(self):
        done = self.neon("-l", "my.log", "-r", "7", "-d", "bf16", "-s", "m.safetensors", self.spec(epochs="2"),
                         environment={"OMP_NUM_THREADS": "1"})
        said = [line.split("] ", 3)[3] for line in self.read("my.log").decode().splitlines()]
        self.assertEqual(said[0], "log my.log")
        self.assertRegex(said[1], r"^neon [\d.]+, seed 7$")
        self.assertIn("datatype: bf16", said[2])
        self.assertIn("nout: 8", said[3])
        self.assertEqual(said[4], "runs on 1 thread")
        self.assertEqual(said[-len(done.out.splitlines()):], done.out.splitlines())
        self.neon("-l", "bad.log", "-r", "7", self.spec(), "--set", "optimizer.learning_rate=1e38", code=5)
        self.assertIn("the run diverged", self.read("bad.log").decode().splitlines()[-1])

    def test_the_threads_that_are_said_are_those_that_were_chosen(self):
        """Without a seed that is after the first steps, and for so small a net usually one."""
        small = self.spec(dataset="{UniformRandom: {ntrain: 4096, ntest: 16, nin: 4, nout: 3}}", epochs="1")
        for _ in range(3):
            said = self.neon("-vv", "-l", "my.log", "-s", "m", small, environment={"OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}).err
            threads = json.loads(tensors(self.path("m"))[1]["neon.position"])["threads"]
            self.assertRegex(said, rf"(?m)^plan: .*, {threads} threads?; values of")
            logged = self.read("my.log").decode()
            self.assertEqual(re.findall(r"(\d+) threads?\b", logged), [f"{threads}"] * 2, logged)
            os.remove(self.path("my.log"))

    def test_verbosity(self):
        self.neon(self.spec())
        said = [len(self.neon("-r", "1", *flag, "s.yaml").err.splitlines()) for flag in ([], ["-vv"], ["-vvv"])]
        self.assertEqual(said[1], said[0] + 1)
        plan = self.neon("-vv", "s.yaml", environment={"OMP_NUM_THREADS": "1"}).err
        kernels = re.search(r"(?m)^plan: \d+ ops in (\d+) kernels \(.*fused.*\), 1 thread; values of .* share .*, weights", plan)
        step = self.neon("program", "s.yaml").out
        self.assertEqual(int(kernels[1]), int(re.search(r"(?m)^(\d+) kernels: ", step)[1]))
        shown = self.neon("-vvv", "s.yaml").err
        self.assertIn(step[:step.index("leaves")], shown)


class Output(Case):
    def test_results_and_messages_are_apart(self):
        result = self.neon(self.spec())
        self.assertNotIn("epoch 1/4", result.out)
        self.assertIn("epoch 1/4", result.err)

    def terminal(self, enough, columns=100, ntrain=4000000, **environment):
        """What neon writes to a terminal whose window has `columns` once a line was seen. The run is stopped, in its first
        epoch, when `enough` holds for what came: how fast a machine is does not matter."""
        main, other = pty.openpty()
        resize = lambda columns: fcntl.ioctl(main, termios.TIOCSWINSZ, struct.pack("HHHH", 20, columns, 0, 0))
        resize(max(columns, 100))
        long = self.spec(dataset=f"{{UniformRandom: {{ntrain: {ntrain}, ntest: 10, nin: 2, nout: 3}}}}", epochs="1000", batch_size="1")
        child = subprocess.Popen([NEON, "-vv", long], cwd=self.folder, env={**self.environment, "TERM": "xterm", **environment},
                                 stdout=other, stderr=other, stdin=subprocess.DEVNULL)
        os.close(other)
        out, chunk, stopped = b"", b"", False
        deadline = time.monotonic() + 60
        try:
            while not select.select([main], [], [], 0.1)[0] or (chunk := os.read(main, 65536)):
                out, chunk = out + chunk, b""
                if b"  step " in out:
                    resize(columns)
                if not stopped and enough(out):
                    child.send_signal(signal.SIGINT)
                    stopped = True
                if time.monotonic() > deadline:
                    child.kill()
        except OSError:
            pass  # Linux's way to say that the other side is closed
        os.close(main)
        self.assertEqual(child.wait(), 130, out)
        return out

    def test_terminal_line_renews_itself(self):
        out = self.terminal(lambda out: out.count(b"  step ") == 3)
        steps = re.findall(rb"\x1b\[2mepoch 1/1000  step (\d+)/4000000  cost [^\x1b]*samples/s[^\x1b]*\x1b\[0m\r\x1b\[K", out)
        self.assertGreaterEqual(len(steps), 3, out)
        self.assertEqual(sorted(set(map(int, steps))), list(map(int, steps)))

    def test_terminal_line_fits_a_window_that_became_narrow(self):
        widths = lambda out: [len(line) for line in re.findall(rb"\x1b\[2m(.*?)\x1b\[0m", out)]
        seen = widths(self.terminal(lambda out: widths(out)[-3:] == [29] * 3 or len(widths(out)) > 50, columns=30))
        wide = [width for width in seen if width > 40]
        self.assertGreaterEqual(len(wide), 1)
        self.assertEqual(seen, wide + [29] * (len(seen) - len(wide)))
        self.assertGreaterEqual(len(seen), len(wide) + 3)

    def test_the_line_has_the_best_result_and_the_memory(self):
        """The best is the least of the epochs' results so far, as the lines of the epochs have them."""
        out = self.terminal(lambda out: out.count(b"  best ") >= 3, columns=200, ntrain=30000)
        found = re.findall(rb"\x1b\[2mepoch (\d+)/1000  step [^\x1b]*? left[^\x1b]*?  best (Top1Misclass [\d.]+ %)  [\d.]+ [KMG]iB\x1b", out)
        self.assertGreaterEqual(len(found), 3, out)
        results = {int(epoch): float(share) for epoch, share in re.findall(rb"epoch +(\d+)/1000  cost [^\n]*?Top1Misclass ([\d.]+) %", out)}
        for epoch, best in found:
            before = [share for number, share in results.items() if number < int(epoch)]
            self.assertEqual(float(best.split()[1]), min(before))

    def test_a_silent_phase_says_what_goes_on(self):
        self.neon("-s", "m.safetensors", "-b", "cpu", "-r", "1", self.spec(
            "dataset: {UniformRandom: {nin: [3, 32, 32], nout: 3, ntrain: 8, ntest: 8}}\nlayers:\n"
            "  - Conv: {fshape: 3, padding: 1, nofm: 32, activation: Tanh}\n  - Conv: {fshape: 3, padding: 1, nofm: 32, activation: Tanh}\n"
            "  - Affine: {nout: 3, activation: Softmax}\ncost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0}}\nbatch_size: 8\nepochs: 1\n", "c.yaml"))
        samples, took, said = 8, 0, ""
        while took < 4:  # whatever the machine's speed
            began = time.monotonic()
            said = self.neon("eval", "m.safetensors", "-b", "cpu", "--set", f"dataset.ntest={samples}").err
            took = time.monotonic() - began
            if took < 1:
                self.assertNotIn("evaluating ...", said)
            samples *= 4
        self.assertEqual(said.count("evaluating ...\n"), 1)

    def test_results_begin_a_line(self):
        out = self.terminal(lambda out: b"  step " in out)
        self.assertRegex(out, rb"\r\x1b\[Kstopped by Ctrl-C in epoch 1, step")

    def test_no_color(self):
        out = self.terminal(lambda out: out.count(b"  step ") == 2, NO_COLOR="1")
        self.assertIn(b"\r\x1b[Kepoch 1/1000  step ", out)
        self.assertNotIn(b"\x1b[2m", out)

    def test_a_terminal_that_cannot_go_back_is_shown_no_line(self):
        planned = []

        def half_a_second_of_training(out):
            planned.extend([time.monotonic()] if b"plan:" in out else [])
            return planned and time.monotonic() - planned[0] > 0.5

        self.assertNotIn(b"\x1b", self.terminal(half_a_second_of_training, TERM="dumb"))

    def test_full_disk_under_stdout_is_a_failure(self):
        with open("/dev/full", "w") as full:
            for arguments in ["help"], ["--version"], ["check", self.spec()]:
                done = subprocess.run([NEON, *arguments], cwd=self.folder, env=self.environment, stdout=full,
                                      stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1, arguments)
                self.assertIn("No space left on device", done.stderr)


if __name__ == "__main__":
    support.main()
