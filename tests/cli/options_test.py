#!/usr/bin/python3
"""Options of the command line and of --config files: each does what its help says."""
import json
import os
import re
import shlex
import subprocess

import h5py

import support
from support import MNIST, NEON, Case, tensors, write_mnist


class Options(Case):
    def test_options(self):
        result = self.neon("-e", "2", "-z", "8", "-r", "5", "-s", "m.safetensors", "-o", "r.h5", "-d", "f64",
                           "-eval", "2", "-H", "0", "--serialize", "1", "--no_progress_bar", "-b", "cpu", self.spec())
        self.assertEqual(result.err, "")
        self.assertIn("seed 5\n", result.out)
        stored, metadata = tensors(self.path("m.safetensors"))
        self.assertEqual({kind for kind, _, _ in stored.values()}, {"F64"})
        position = json.loads(metadata["neon.position"])
        self.assertEqual((position["epoch"], position["seed"]), (2, 5))
        with h5py.File(self.path("r.h5")) as file:
            samples = 150 - 30
            self.assertEqual(file["cost/train"].shape, (2 * samples // 8,))
            self.assertEqual(file["cost/loss"].shape, (1,))
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.safetensors", "r.h5", "s.yaml"])

    def test_long_options(self):
        self.neon("--epochs=1", "--batch_size", "8", "--rng_seed=3", "--save_path", "a.safetensors", "--output_file=b.h5",
                  "--datatype", "bf16", "--eval_freq", "1", "--history=2", "--backend=cpu", "--caffe", "--deterministic",
                  "--verbose", self.spec())
        self.assertTrue(os.path.exists(self.path("a.safetensors")) and os.path.exists(self.path("b.h5")))

    def test_types_by_their_names_in_numpy(self):
        spec = self.spec(epochs="1")
        for name, own in ("np.float16", "f16"), ("numpy.float32", "f32"), ("float64", "f64"):
            self.write("t.cfg", f"datatype = {name}\n")
            for options in ["-d", name], [f"--datatype={name}"], ["-c", "t.cfg"]:
                self.neon(*options, "-s", "m.safetensors", spec)
                self.assertIn(f"\ndatatype: {own}\n", tensors(self.path("m.safetensors"))[1]["neon.options"])
        for name in "np.float8", "np.int8", "np.", "float":
            self.refused(2, "-d", name, spec, says="option -d,--datatype")

    def test_eval_freq_by_its_older_names(self):
        for option in ["-eval", "2"], ["-val", "2"], ["-val=2"], ["--validation_freq", "2"], ["--evaluation_freq=2"], ["-c", "a.cfg"]:
            self.write("a.cfg", "evaluation_freq = 2\n")
            lines = self.neon("-e", "4", *option, self.spec()).err.splitlines()
            epochs = [line for line in lines if line.startswith("epoch ")]
            self.assertEqual(["test cost" in line for line in epochs], [False, True] * 2, option)

    def test_the_next_command_is_one_for_the_shell(self):
        os.mkdir(self.path("a b"))
        self.spec(name="a b/it's.yaml")
        for arguments in ["a b/it's.yaml"], ["-s", "a b/m&n.safetensors", "a b/it's.yaml"], ["resume", "a b/m&n.safetensors"]:
            command = re.search(r"next: (.*)", self.neon(*arguments).out)[1]
            subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, check=True)

    def test_names_that_begin_as_options_do(self):
        self.spec(name="-s.yaml")
        for arguments in ["--", "-s.yaml"], ["-s=-m", "--", "-s.yaml"], ["resume", "--", "-m"]:
            command = re.search(r"next: (.*)", self.neon(*arguments).out)[1]
            subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, check=True)

    def test_values_after_a_sign_of_equality(self):
        out = self.neon("-s=m", "-e=2", "-H=1", "-z=30", "-d=bf16", "-u=4", "-l=log", "-r=5", self.spec()).out
        self.assertIn("trained 2 epochs", out)
        self.assertIn("seed 5\n", out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["log", "m", "m.1-1", "s.yaml"])

    def test_config_file(self):
        self.write("neon.cfg", "# options\nepochs = 3\nrng_seed: 9\nno_progress_bar\n")
        self.assertIn("trained 3 epochs", self.neon("-c", "neon.cfg", self.spec()).out)
        result = self.neon("-e", "1", "--config=neon.cfg", self.spec())
        self.assertIn("trained 1 epoch in", result.out, "the command line overrules")
        self.assertIn("seed 9", result.out)

    def test_a_file_of_options_may_ask_for_devices_that_a_verb_does_not_take(self):
        self.write("two.cfg", "max_devices = 2\nbackend = cpu\n")
        spec = self.spec()
        self.neon("-c", "two.cfg", "-s", "m", spec)
        for arguments in ["eval", "m"], ["summary", spec], ["lr-find", spec]:
            self.neon(*arguments, "-c", "two.cfg")
            self.refused(2, *arguments, "-c", "two.cfg", "-m", "2", says="computes on one device; these take several")

    def test_data_dir(self):
        write_mnist(self, "elsewhere/mnist")
        result = self.neon("-w", "elsewhere", self.spec(MNIST))
        self.assertIn("(elsewhere/mnist)", result.out)
        self.assertIn("(elsewhere/mnist)", self.neon(self.spec(MNIST), environment={"NEON_DATA_DIR": "elsewhere"}).out)

    def test_set(self):
        spec = self.spec()
        self.neon("--set", "layers[0].nout=5", "--set", "epochs=1", "-s", "m", spec)
        self.assertEqual(tensors(self.path("m"))[0]["Affine_0/W"][1], [5, 4])

    def test_no_gpu(self):
        self.refused(6, "-b", "gpu", self.spec(), says=["the GPU cannot be used", "-b cpu"])
        self.refused(6, "-g", "cudanet", self.spec(), says="the GPU cannot be used")
        self.refused(6, self.spec(backend="gpu"), says="the GPU cannot be used")
        self.neon("-b", "cpu", self.spec(backend="gpu", epochs="1"))

    def test_a_gpu_that_is_named_is_asked_for(self):
        spec = self.spec(backend="cpu", epochs="1")
        for index in "0", "3":
            for verb in [], ["check"], ["bench"]:
                self.refused(6, *verb, "-i", index, spec, says=["the GPU cannot be used", "-b cpu"])
        self.write("gpu.cfg", "device_id = 1\n")
        self.refused(6, "-c", "gpu.cfg", spec, says="the GPU cannot be used")
        self.neon("-c", "gpu.cfg", "-b", "cpu", "-s", "m.safetensors", spec)
        # The checkpoint keeps the number of the GPU, which asks for nothing where the run goes on.
        self.neon("resume", "m.safetensors", "-e", "2")
        self.write("x.csv", "5.1,3.5,1.4,0.2\n")
        for verb in ["eval", "m.safetensors"], ["resume", "m.safetensors"], ["predict", "m.safetensors", "x.csv"]:
            self.refused(6, *verb, "-i", "0", says="the GPU cannot be used")

    def test_the_command_line_overrules_the_device_of_a_file(self):
        spec = self.spec(epochs="1")
        for says in "backend = cpu", "gpu: cpu":
            self.write("cpu.cfg", says + "\n")
            self.neon("-c", "cpu.cfg", spec)
            for asked in ["-g", "gpu"], ["--gpu=cudanet"], ["-i", "1"], ["-b", "gpu"]:
                self.refused(6, "-c", "cpu.cfg", *asked, spec, says="the GPU cannot be used")
                self.refused(6, *asked, "-c", "cpu.cfg", spec, says="the GPU cannot be used")
        for says in "backend = gpu", "gpu = cudanet", "device_id = 1", "backend = gpu\ndevice_id = 1":
            self.write("gpu.cfg", says + "\n")
            self.refused(6, "-c", "gpu.cfg", spec, says="the GPU cannot be used")
            for asked in ["-g", "cpu"], ["-b", "cpu"], ["-bcpu"]:
                self.neon("-c", "gpu.cfg", *asked, spec)

    def test_backends_by_the_names_of_neon_1(self):
        spec = self.spec(backend="gpu", epochs="1")
        for option in "-b", "-g":
            self.neon(option, "mkl", spec)
            self.refused(6, option, "mgpu", spec, says="the GPU cannot be used")
        self.neon("-b", "cpu", "-g", "mkl", spec)
        self.write("old.cfg", "backend = mkl\n")
        self.neon("-c", "old.cfg", "-s", "m.safetensors", spec)
        self.neon("eval", "-b", "mkl", "m.safetensors")

    def test_of_options_given_twice_the_last_counts(self):
        spec = self.spec(backend="gpu", epochs="1")
        self.write("one.cfg", "max_devices = 1\ngpu = gpu\n")
        self.neon("-c", "one.cfg", "-m", "1", "-g", "cpu", spec)
        self.neon("-m", "1", "-m", "1", "-g", "gpu", "-g", "cpu", spec)
        self.refused(6, "-g", "cpu", "-g", "gpu", spec, says="the GPU cannot be used")
        self.neon("-m", "2", "-m", "1", "-b", "cpu", spec)

    def test_config_file_takes_quotes_off(self):
        self.write("q.cfg", "save_path = 'q q#1.safetensors' # the net\noutput_file: \"r;1.h5\"\nepochs='1' ; quoted\n")
        self.assertIn("trained 1 epoch in", self.neon("-c", "q.cfg", self.spec()).out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["q q#1.safetensors", "q.cfg", "r;1.h5", "s.yaml"])

    def test_config_file_may_turn_rounding_on_and_off(self):
        stored = {}
        for name, options in ("False", ["-c"]), ("false", ["-c"]), ("True", ["-c"]), ("'true'", ["-c"]), ("10", ["-c"]), \
                ("3", ["-c"]), ("off", None):
            self.write("r.cfg", f"rounding = {name}\n")
            self.neon("-r", "1", "-e", "1", "-b", "cpu", "-d", "f16", "-s", "m", *(options + ["r.cfg"] if options else []), self.spec())
            stored[name] = tensors(self.path("m"))[0]["Affine_0/W"]
        self.assertEqual(stored["False"], stored["off"])
        self.assertEqual(stored["false"], stored["off"])
        self.assertEqual(stored["True"], stored["10"])
        self.assertEqual(stored["'true'"], stored["10"])
        self.assertNotEqual(stored["3"], stored["10"])
        self.assertNotEqual(stored["10"], stored["off"])

    def test_home_is_read_where_no_shell_does(self):
        self.write("a.cfg", "save_path = ~/kept/m.safetensors\nlog = '~/kept/log.txt'\n")
        self.neon("-c", "a.cfg", "-e", "1", "--output_file=~/kept/run.h5", self.spec(), environment={"HOME": self.path("home")})
        self.assertEqual(sorted(os.listdir(self.path("home/kept"))), ["log.txt", "m.safetensors", "run.h5"])
        self.assertFalse(os.path.exists(self.path("~")))

    def test_threads_that_are_bound_are_as_many(self):
        """Bound, the first thread may use one processor, which says nothing of the others."""
        def threads(**environment):
            return re.search(r"(?m)^threads .*", self.neon("doctor", environment={"OMP_NUM_THREADS": "1000", **environment}).out)[0]
        self.assertEqual(threads(OMP_PROC_BIND="true"), threads())
        self.assertEqual(threads(GOMP_CPU_AFFINITY=str(min(os.sched_getaffinity(0)))), "threads          1")

    def test_number_of_threads_that_is_none(self):
        all_of_them = self.neon("doctor", environment={"OMP_NUM_THREADS": "1000000000"})
        found = re.search(r"^threads +(\d+)$", all_of_them.out, re.M)[1]
        used = f"neon uses {found} thread" + "s" * (found != "1")
        self.assertEqual(all_of_them.err, f"note: OMP_NUM_THREADS is '1000000000', more than this process has processors: {used}\n")
        for value in "abc", "-3", "0", "1e9", "":
            for verb in ["-e", "1"], ["check"], ["bench", "--iterations", "2"]:
                done = self.neon(*verb, self.spec(), environment={"OMP_NUM_THREADS": value})
                ours = [line for line in done.err.splitlines() if "OMP_NUM_THREADS is" in line]
                self.assertEqual(ours, [f"note: OMP_NUM_THREADS is '{value}', not a number of threads (1 or more): {used}"])
                self.assertLessEqual(done.err.count("libgomp"), 1, done.err)
        self.assertNotIn("OMP_NUM_THREADS", self.neon("-e", "1", self.spec(), environment={"OMP_NUM_THREADS": "1"}).err)

    def test_spec_and_options_come_by_pipes(self):
        spec, options = self.spec(epochs="7"), b"epochs = 2\nsave_path = m\n"
        self.write("options", options)
        for words in "-c <(cat options) <(cat s.yaml)", "-c /dev/stdin s.yaml < <(cat options)", "-coptions /dev/stdin < <(cat s.yaml)", \
                "--config=<(cat options) s.yaml":
            with self.subTest(words):
                done = subprocess.run(["bash", "-c", f"{shlex.quote(NEON)} {words}"], cwd=self.folder, env=self.environment,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("trained 2 epochs", done.stdout)
                self.assertIn(f"spec_dir: {self.folder}\n", tensors(self.path("m"))[1]["neon.options"])
                os.remove(self.path("m"))
        self.assertEqual(self.neon("-c", "/dev/stdin", spec, stdin=b"epoch = 2\n", code=None).code, 2)
        # What cannot be read again is not offered again.
        self.assertNotIn("next:", self.neon("-e", "1", "/dev/stdin", stdin=self.read(spec)).out)

    def test_verb_after_options(self):
        self.assertIn("spec    s.yaml", self.neon("-z", "8", "check", self.spec()).out)


if __name__ == "__main__":
    support.main()
