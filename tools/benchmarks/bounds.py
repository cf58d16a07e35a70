"""What has a bound of its own and no peer: start-up, a whole run and its memory, and a step against its products."""
import gzip
import os
import pathlib
import statistics
import struct
import subprocess
import tempfile
import time

from benchmarks.programs import ROOT, neon_step, run

SPEC = "examples/mlp/mnist-small.yaml"
FLOPS_OF_A_STEP = 2 * 128 * (2 * 784 * 100 + 3 * 100 * 10)  # five products; the input needs no gradient


def mnist_shaped(folder):
    """Four IDX files of MNIST's sizes, filled with noise and labels that follow from it."""
    for name, count in (("train", 60000), ("t10k", 10000)):
        pixels = os.urandom(count * 784)
        labels = bytes(pixels[i * 784] % 10 for i in range(count))
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28) + pixels)
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">II", 2049, count) + labels)


def seconds(command, times):
    def once():
        before = time.perf_counter()
        run(command)
        return time.perf_counter() - before

    return statistics.median(once() for _ in range(times))


def ceiling(threads):
    """GFLOP/s of a 2048x2048 product by oneDNN."""
    subprocess.run(["ninja", "-C", str(ROOT / "build"), "tools/ceiling"], check=True, capture_output=True)
    return float(run([ROOT / "build/tools/ceiling"], OMP_NUM_THREADS=str(threads))[0])


def measure(neon, threads):
    rates, steps = [], []
    for _ in range(3):  # in turn, since clocks drift
        steps.append(neon_step(neon, SPEC, 128, "f32", False, threads, 1500)[0])
        rates.append(ceiling(threads))
    step, rate = statistics.median(steps), statistics.median(rates)
    floor = FLOPS_OF_A_STEP / rate / 1e6
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mnist_shaped(folder)
        whole_run = [neon, SPEC, "-b", "cpu", "-w", folder, "--no_progress_bar"]
        _, peak = run(whole_run)
        took = seconds(whole_run, 3)
    version = 1000 * seconds([neon, "--version"], 41)
    check = 1000 * seconds([neon, "check", SPEC, "-b", "cpu", "--set", "dataset=Digits"], 41)
    print("| what | neon | bound |\n|---|---|---|")
    print(f"| a step of {SPEC}, against its FLOPs at a large product's {rate:.0f} GFLOP/s | {step:.3f} ms | {floor:.3f} ms |")
    print(f"| {SPEC} on files of MNIST's sizes, ten epochs, start to exit | {took:.2f} s | 4 s |")
    print(f"| its peak memory | {peak:.0f} MiB | 300 MiB |")
    print(f"| neon --version | {version:.1f} ms | 15 ms |")
    print(f"| neon check {SPEC} | {check:.1f} ms | 50 ms |")
