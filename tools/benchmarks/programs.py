"""Runs the two programs that take turns: neon's bench and a PyTorch peer of tools/peers."""
import json
import os
import pathlib
import selectors
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
UNITS = {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024, "TiB": 1024 * 1024}


class BenchError(Exception):
    pass


def run(command, **extra_environment):
    """stdout of a command and the most memory that it took, in MiB."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env={**os.environ, "NEON_NO_RUN_FOLDER": "1", **extra_environment},
                                   stdout=subprocess.PIPE, stderr=errors, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)  # of this child alone
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise BenchError(f"{' '.join(map(str, command))} failed with {process.returncode}:\n{errors.read()}")
    return output, usage.ru_maxrss / 1024


def parsed(output):
    """Milliseconds of a step or of outputs, and the device's name and memory in MiB (None on a CPU), of what `neon bench` prints."""
    milliseconds = memory = None
    device = output.splitlines()[0].split(", ", 3)[3]
    for line in output.splitlines():
        words = line.split()
        if line.startswith("whole step"):
            milliseconds = float(words[2])
        elif line.startswith("inference"):
            milliseconds = float(words[1])
        elif line.startswith("memory"):
            memory = float(words[1]) * UNITS[words[2]]
    if milliseconds is None:
        raise BenchError(f"neon bench printed no line \"whole step\" or \"inference\":\n{output}")
    return milliseconds, device, memory


def words_of(spec, batch, type_, gpu):
    """The words that name a step in a command of neon."""
    tf32 = ["--tf32"] if type_ == "tf32" else []
    return [spec, "-b", "gpu" if gpu else "cpu", "-z", str(batch), "-d", "f32" if type_ == "tf32" else type_, *tf32]


def neon_step(neon, spec, batch, type_, gpu, threads, iterations, outputs=False, more=()):
    """(ms of a step or of outputs, device, peak MiB or None) of one run of `neon bench`."""
    command = [neon, "bench", *words_of(spec, batch, type_, gpu), "--iterations", str(iterations), *more]
    if outputs:
        command.append("--inference")
    if "mnist" in spec:  # the bench needs no download; Digits has MNIST's shapes
        command += ["--set", "dataset=Digits"]
    output, resident = run(command, **({} if gpu else {"OMP_NUM_THREADS": str(threads)}))
    milliseconds, device, memory = parsed(output)
    return milliseconds, device, memory if gpu else resident


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Peer:
    """One PyTorch process of one mode, or one for each of several GPUs. It prepares once, then measures whenever it is asked."""

    def __init__(self, python, net, type_, gpu, mode, batch, threads, blas="", devices=1):
        self.mode = mode
        extra = {"NEON_NO_RUN_FOLDER": "1", **({"LD_LIBRARY_PATH": blas} if blas else {})}
        command = [python, ROOT / "tools/peers/torch_step.py", "--wait", "--net", net, "--type", type_,
                   "--device", "cuda" if gpu else "cpu", "--mode", mode, "--batch", batch, "--threads", threads]
        if devices > 1:
            extra.update(WORLD_SIZE=str(devices), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
        self.errors = tempfile.TemporaryFile("w+")
        self.processes = [
            subprocess.Popen([str(word) for word in command], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                             env={**os.environ, **extra, "RANK": str(rank), "LOCAL_RANK": str(rank)} if devices > 1 else {**os.environ, **extra})
            for rank in range(devices)]

    def measure(self):
        """The JSON object of one measurement; of several processes the first one's, with the most memory of any."""
        for process in self.processes:
            try:
                process.stdin.write("measure\n")
                process.stdin.flush()
            except BrokenPipeError:  # it ended already; its last line says why
                pass
        results = {}
        with selectors.DefaultSelector() as answers:  # whichever fails says so first, while the others wait for it
            for rank, process in enumerate(self.processes):
                answers.register(process.stdout, selectors.EVENT_READ, rank)
            while len(results) < len(self.processes):
                for key, _ in answers.select():
                    results[key.data] = self.result_of(self.processes[key.data])
                    answers.unregister(key.fileobj)
        return {**results[0], "peak_mib": max(result["peak_mib"] for result in results.values())}

    def result_of(self, process):
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self.errors.seek(0)
            last = (self.errors.read().splitlines() or ["it printed nothing"])[-1]
            raise BenchError(f"the peer ended with {code}: {last}")
        result = json.loads(line)
        if "failed" in result:
            raise BenchError(result["failed"])
        return result

    def close(self):
        for process in self.processes:
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
        for process in self.processes:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:  # it waits for another that failed
                process.kill()
                process.wait()


def started_peers(modes, name, **of_peer):
    """The peers that work here, each with its first measurement, which is not counted."""
    peers = []
    for mode in modes:
        peer = Peer(mode=mode, **of_peer)
        try:
            peer.measure()
            peers.append(peer)
        except BenchError as error:
            print(f"note: {name}, mode {mode} is left out: {error}", file=sys.stderr)
            peer.close()
    if not peers:
        raise BenchError(f"no mode of the peer works for {name}")
    return peers


def python_with_torch(asked):
    """The interpreter that was asked for, else the first that can import torch."""
    for python in [asked] if asked else ["python3", "/usr/bin/python3"]:
        done = subprocess.run([python, "-c", "import torch"], capture_output=True)
        if done.returncode == 0:
            return python
    raise BenchError(f"{asked or 'python3'} cannot import torch: install python3-torch, or name an interpreter that "
                     "has it with --python")
