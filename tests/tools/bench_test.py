#!/usr/bin/python3
"""tools/bench and tools/benchmarks/table, with programs that only pretend to be neon and PyTorch."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools")]
from benchmarks import rows  # noqa: E402
from peers.specs import GROUPS, NETS  # noqa: E402

# Both write a line a measurement to the same log. neon's steps take 3, 1 and 2 ms.
NEON = r"""#!/bin/sh
echo "neon $*" >> "$LOG"
case $(grep -c ^neon "$LOG") in 1) ms=3;; 2) ms=1;; *) ms=2;; esac
printf 'median of 100 steps, batch 128, f16, NVIDIA Pretend\n'
case "$*" in *--inference*) printf 'inference  %s.2500 ms  9 samples/s\n' $ms; exit 0;; esac
printf 'forward  0.5 ms\nforward+backward  0.9 ms\nwhole step  %s.0000 ms  9 samples/s\n' $ms
printf 'memory            1.5 GiB of the GPU%ss at most\n' "'"
"""
# The first measurement takes 100 ms and must not count; those after it 8, 6 and 7. One mode fails.
PEER = r"""#!/bin/sh
[ "$1" = -c ] && exit 0
case "$*" in
  *reduce-overhead*) echo '{"failed": "Error: no compiler"}'; exit 1;;
  *eager*) echo "no such library" >&2; exit 3;;
esac
for ms in 100 8 6 7; do
  read line || exit 0
  echo "peer" >> "$LOG"
  echo "{\"ms\": $ms, \"peak_mib\": 2048.4, \"torch\": \"2.11.0+cu130\"}"
done
"""
PAGE = "# Page\n<!-- table: made by tools/benchmarks/table -->\nold\n<!-- end of table -->\nend\n"

results = []


def case(name, passed, why=""):
    results.append(bool(passed))
    if not passed:
        print(f"FAILED: {name} {why}")


def row(**changes):
    fields = dict(net="alexnet", type="f16", device="GPU X", batch=128, modes={"graph": 3.0, "compile": 2.0}, neon_ms=1.0,
                  neon_mib=1000, peer="PyTorch 2.11", peer_mib=None, commit="abc", date="2026-01-01", command="c")
    return rows.make_row(**{**fields, **changes})


def refused(**changes):
    return rows.problem_of({**row(), **changes}) or ""


def bench(folder, nets, modes, log, output):
    """tools/bench with the two programs that pretend."""
    for name, text in (("neon", NEON), ("python", PEER)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    command = [ROOT / "tools/bench", "gpu", "--nets", nets, "--types", "f16", "--modes", modes,
               "--python", folder / "python", "--commit", "abc1234", "--output", output]
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True,
                          env={**os.environ, "NEON": str(folder / "neon"), "LOG": str(log)})


def test_turns(folder):
    log, output = folder / "log", folder / "rows.jsonl"
    done = bench(folder, "alexnet", "eager,graph,reduce-overhead", log, output)
    case("tools/bench ends with 0", done.returncode == 0, done.stderr)
    turns = [line.split()[0] for line in log.read_text().splitlines()]
    case("the programs take turns", turns == ["peer"] + ["neon", "peer"] * 3, turns)
    case("the type is passed", "-d f16" in log.read_text() and "examples/bench/alexnet.yaml" in log.read_text())
    case("a peer that ends is named", "mode eager is left out: the peer ended with 3: no such library" in done.stderr, done.stderr)
    case("a mode that fails is named", "reduce-overhead is left out: Error: no compiler" in done.stderr, done.stderr)
    made = rows.read(output)
    case("one row", len(made) == 1)
    wanted = {"net": "alexnet", "type": "f16", "device": "NVIDIA Pretend", "batch": 128, "neon_ms": 2.0, "neon_mib": 1536,
              "peer": "PyTorch 2.11.0", "peer_mode": "graph", "peer_ms": 7, "peer_mib": 2048, "ratio": 3.5,
              "commit": "abc1234", "command": "tools/bench gpu --nets alexnet --types f16"}
    got = {field: made[0][field] for field in wanted}
    case("its fields", got == wanted, got)


def test_groups(folder):
    log, output = folder / "log_of_groups", folder / "groups.jsonl"
    done = bench(folder, "c3d,normed", "graph", log, output)
    case("groups and nets are named together", done.returncode == 0, done.stderr)
    wanted = ["c3d", "resnet50", "resnet18", "vgg16-bn", "mobilenet-v2", "densenet121", "conv-5-7-11"]
    case("a row for each net of a group", [row["net"] for row in rows.read(output)] == wanted)
    timed = re.findall(r"neon bench (\S+)", log.read_text())
    case("each spec is timed", timed == [f"examples/bench/{name}.yaml" for name in wanted for _ in range(3)], timed)
    for name, nets in GROUPS.items():
        if name != "outputs":
            case(f"the group {name} has the peers of its file", nets == peers_of(name))
    case("outputs are those of other nets", all(NETS[name].of in peers_of("normed") and not NETS[NETS[name].of].of for name in GROUPS["outputs"]))


def test_outputs(folder):
    log, output = folder / "log_of_outputs", folder / "outputs.jsonl"
    done = bench(folder, "resnet50-outputs-32", "graph", log, output)
    case("outputs are timed", done.returncode == 0, done.stderr)
    made = rows.read(output)[0]
    case("outputs in the time that bench prints", made["neon_ms"] == 2.25 and made["batch"] == 32, made)
    case("frozen weights are a mode of outputs", set(made["modes"]) == {"graph", "frozen"}, made["modes"])
    case("neon's memory is not that of outputs", made["neon_mib"] is None)


def test_failures(folder):
    base = [sys.executable, str(ROOT / "tools/bench"), "cpu"]
    done = subprocess.run([*base, "--nets", "normed,alexnett"], capture_output=True, text=True)
    refusal = "no net alexnett; there are mlp, lenet"
    case("an unknown net is refused", done.returncode == 2 and refusal in done.stderr, done.stderr)
    case("groups are named, too", "and the groups normed, sequences" in done.stderr, done.stderr)
    done = subprocess.run([*base, "--python", "/bin/false"], capture_output=True, text=True)
    case("Python without torch is refused", done.returncode == 1 and "cannot import torch" in done.stderr, done.stderr)


def test_rows():
    case("the fastest mode counts", row()["peer_mode"] == "compile" and row()["ratio"] == 2.0)
    case("another ratio is refused", "ratio" in refused(ratio=2.1))
    case("a slower mode is refused", "fastest" in refused(peer_mode="graph", peer_ms=3.0))
    case("text for a number is refused", "neon_ms" in refused(neon_ms="1"))
    case("a field too many is refused", "more" in refused(more=1))
    case("the newest row counts", rows.latest([row(), row(neon_ms=1.5, device="GPU Y")]) == [row(neon_ms=1.5, device="GPU Y")])
    threads = [row(device="cpu, 2 threads"), row(device="cpu, 16 threads"), row()]
    case("threads and GPUs have rows of their own", rows.latest(threads) == threads)


def test_table(folder):
    page, file = folder / "page.md", folder / "table.jsonl"
    page.write_text(PAGE)
    rows.append(row(), file)
    rows.append(row(net="vgg-a", neon_ms=4.0), file)

    def table(*options):
        return subprocess.run([str(ROOT / "tools/benchmarks/table"), "--page", str(page), "--results", str(file), *options],
                              capture_output=True, text=True)

    case("--check sees an old table", table("--check").returncode == 1 and page.read_text() == PAGE)
    case("the table is written", table().returncode == 0 and table("--check").returncode == 0)
    text = page.read_text()
    case("the page around it stays", text.startswith("# Page\n") and text.endswith("-->\nend\n"))
    case("its rows", "| alexnet, 128 | f16 | GPU X | 1.00 | 2.00 (2.11, compile) | 2.00 | 1000 MiB; ? | abc, 2026-01-01 |" in text, text)
    case("where neon is slower", "slower in 1 of 2 rows: vgg-a in f16 on GPU X (0.50)" in text)


def peers_of(name):
    """The nets that a file of tools/peers makes, without PyTorch, which imports it."""
    with open(ROOT / f"tools/peers/{name}.py", encoding="utf-8") as file:
        return re.findall(r'"([\w-]+)":', re.search(r"^MAKE = \{(.*?)\}", file.read(), re.M | re.S).group(1))


def test_nets():
    for name, net in NETS.items():
        spec = (ROOT / net.spec).read_text()
        own = name.rpartition("-")[2] if net.of else re.search(r"^batch_size: (\d+)", spec, re.M).group(1)
        case(f"batch of {name}", own == str(net.batch))
        nin = re.search(r"nin: \[(.*?)\]", spec)
        case(f"sample of {name}", not nin or tuple(json.loads(f"[{nin.group(1)}]")) == net.sample)
        nout = re.search(r"^dataset: .*nout: (\d+)", spec, re.M)
        case(f"classes of {name}", not nout or nout.group(1) == str(net.classes))
    case("every net has a peer", [*peers_of("nets"), *peers_of("normed"), *peers_of("sequences")] == [name for name, net in NETS.items() if not net.of])


with tempfile.TemporaryDirectory() as name:
    test_turns(pathlib.Path(name))
    test_groups(pathlib.Path(name))
    test_outputs(pathlib.Path(name))
    test_failures(pathlib.Path(name))
    test_rows()
    test_table(pathlib.Path(name))
    test_nets()
print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
sys.exit(not all(results))
