"""Runs where OpenMP gives fewer threads than asked for, and where it has more than there are processors: the numbers of
one thread, up to rounding, and no run that waits for a thread that is not there."""
import os
import re
import resource
import subprocess

import support

SETTINGS = {"OMP_NUM_THREADS": "8"}, {"OMP_THREAD_LIMIT": "1"}, {"OMP_DYNAMIC": "true"}, {"OMP_MAX_ACTIVE_LEVELS": "0"}
CONVNET = """\
dataset: {Digits: {ntrain: 200, ntest: 100, normalize: true}}
layers:
  - Conv: {fshape: 5, nofm: 16, init: Kaiming, activation: Rectlin}
  - Pooling: {fshape: 2, strides: 2}
  - Conv: {fshape: 3, nofm: 16, init: Kaiming, batch_norm: true, activation: Rectlin}
  - Affine: {nout: 10, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0.9}}
batch_size: 64
epochs: 2
"""


def numbers(text):
    """The costs and errors that a run prints, in their order; not its times."""
    return [float(x) for x in re.findall(r"(?:cost|error|misclassification)\w* +(\d+\.\d+)", text, re.I)]


class Threads(support.Case):
    def with_threads(self, setting, *arguments):
        environment = {name: value for name, value in self.environment.items() if name != "OMP_NUM_THREADS"}
        done = subprocess.run([support.NEON, *arguments], cwd=self.folder, env={**environment, **setting}, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, f"{setting}: {done.stderr}")
        return done

    def test_training_and_evaluation(self):
        spec = self.spec(CONVNET)
        first = self.with_threads({"OMP_NUM_THREADS": "1"}, "-r", "1", "-s", "one.h5", spec)
        expected = numbers(first.stderr + first.stdout)
        evaluated = numbers(self.with_threads({"OMP_NUM_THREADS": "1"}, "eval", "one.h5").stdout)
        self.assertGreaterEqual(len(expected), 2, first.stderr)
        self.assertGreaterEqual(len(evaluated), 1)
        for setting in SETTINGS:
            with self.subTest(setting):
                run = self.with_threads(setting, "-r", "1", "-s", "other.h5", spec)
                for got, wanted in zip(numbers(run.stderr + run.stdout), expected, strict=True):
                    self.assertAlmostEqual(got, wanted, delta=0.02 * wanted)
                for got, wanted in zip(numbers(self.with_threads(setting, "eval", "one.h5").stdout), evaluated, strict=True):
                    self.assertAlmostEqual(got, wanted, delta=1e-3 * wanted)

    def test_too_little_memory_or_too_few_processes_are_one_line(self):
        """Under a limit of address space or processes a run ends well, or with 4 and one line: no crash, and no line of
        OpenMP's."""
        spec = self.spec(CONVNET, epochs="1")

        def run(limit, kind, threads):
            def set_limit():
                resource.setrlimit(kind, (limit, limit))
            done = subprocess.run([support.NEON, "-r", "1", spec], cwd=self.folder, env={**self.environment, "OMP_NUM_THREADS": threads},
                                  capture_output=True, text=True, timeout=60, preexec_fn=set_limit)
            said = f"limit {limit >> 20} MiB, {threads} threads: {done.returncode} {done.stderr[-500:]}"
            self.assertIn(done.returncode, (0, 4, 127), said)  # 127: not even loaded
            if done.returncode != 127:
                self.assertNotIn("libgomp", done.stderr, said)
            if done.returncode == 4:
                self.assertEqual(len([line for line in done.stderr.splitlines() if line.startswith("neon: ")]), 1, said)
            return done.returncode

        codes = [run(limit << 20, resource.RLIMIT_AS, threads) for threads in ("1", "2") for limit in range(60, 300, 60)]
        self.assertIn(4, codes)
        codes.append(run(1 << 40, resource.RLIMIT_AS, "2"))
        self.assertEqual(codes[-1], 0)

    def test_array_programs(self):
        for name in "variance", "batch_norm":
            program = os.path.join(os.environ["ARRAY_EXAMPLES"], name)
            outs = [subprocess.run([program], env={**self.environment, **setting}, capture_output=True, text=True, timeout=60)
                    for setting in ({"OMP_NUM_THREADS": "1"}, *SETTINGS)]
            for setting, done in zip(SETTINGS, outs[1:]):
                self.assertEqual(done.returncode, outs[0].returncode, f"{setting}: {done.stderr}")

    def test_threads_that_the_runtime_does_not_give_are_reported(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two processors")
        for limit in {"OMP_THREAD_LIMIT": "1"}, {"OMP_MAX_ACTIVE_LEVELS": "0"}:
            done = self.with_threads({"OMP_NUM_THREADS": "2", **limit}, "doctor")
            self.assertRegex(done.stdout, r"(?m)^threads +1$")
            self.assertEqual(done.stderr, "note: OMP_NUM_THREADS is '2', more than OMP_THREAD_LIMIT or OMP_MAX_ACTIVE_LEVELS "
                                          "allows: neon uses 1 thread\n")


if __name__ == "__main__":
    support.main()
