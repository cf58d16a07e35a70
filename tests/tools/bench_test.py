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
case "$*" in
  program*) printf 'devices batch step\n      1   64 1.0 0\n      2  128 2.2500 0.1\n'; exit 0;;
  *'-m 2'*) printf 'median of 100 steps, batch 256, f16, 2 ranks of NVIDIA Pretend\nwhole step 4.0 ms\n'; exit 0;;
esac
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
  echo "peer$RANK" >> "$LOG"
  echo "{\"ms\": $ms, \"peak_mib\": 2048.4, \"torch\": \"2.11.0+cu130\"}"
done
"""
PAGE = ("# Page\n<!-- table: made by tools/benchmarks/table -->\nold\n<!-- end of table -->\n"
        "<!-- table of several GPUs: made by tools/benchmarks/table -->\nold\n<!-- end of several GPUs -->\nend\n")

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


def bench(folder, nets, modes, log, output, where="gpu", *more):
    """tools/bench with the two programs that pretend."""
    for name, text in (("neon", NEON), ("python", PEER)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    command = [ROOT / "tools/bench", where, "--nets", nets, "--types", "f16", "--modes", modes,
               "--python", folder / "python", "--commit", "abc1234", "--output", output, *more]
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


def test_devices(folder):
    """Steps of two GPUs: a peer's process for each, in turn with neon on one and on two."""
    log, output = folder / "log_of_devices", folder / "devices.jsonl"
    done = bench(folder, "alexnet", "graph", log, output, "devices", "--counts", "2", "--plans", "model")
    case("steps of two GPUs are timed", done.returncode == 0, done.stderr)
    turns = [line.split()[:2] for line in log.read_text().splitlines()]
    peers = sorted(turn[0] for turn in turns[:2])
    case("each GPU has a process of the peer", peers == ["peer0", "peer1"], turns)
    case("neon takes turns with them", [turn[0][:4] for turn in turns] == ["peer"] * 2 + ["neon", "neon", "peer", "peer"] * 3 + ["neon"], turns)
    text = log.read_text()
    case("two GPUs take twice the batch", "-z 256 -d f16 --iterations 40 -m 2 --set parallel={dense: model}" in text, text)
    case("what one takes alone", "-z 128 -d f16 --iterations 40\n" in text, text)
    case("the simulation has the same plan", "-z 128 -d f16 --devices 2 --each --set parallel={dense: model}" in text, text)
    made = rows.read(output, rows.OF_DEVICES)[0]
    wanted = {"net": "alexnet", "device": "NVIDIA Pretend", "devices": 2, "scaling": "weak", "plan": "model", "batch": 256, "neon_ms": 4.0,
              "alone_ms": 2.0, "computed_ms": 2.25, "peer_ms": 7, "ratio": 1.75}
    case("its fields", {field: made[field] for field in wanted} == wanted, made)
    done = bench(folder, "alexnet", "graph", log, output, "devices", "--scaling", "strong", "--batch", "64")
    strong = rows.read(output, rows.OF_DEVICES)[1]
    case("strong scaling shares the batch", strong["batch"] == 64 and "-z 64 -d f16 --iterations 40 -m 2\n" in log.read_text(), done.stderr)
    done = bench(folder, "alexnet", "graph", log, output, "devices", "--scaling", "strong", "--batch", "7")
    case("shares of a batch are equal", done.returncode == 1 and "a batch of 7 has no equal shares for 2 GPUs" in done.stderr, done.stderr)
    case("rows of either kind count", rows.latest_of_devices([made, strong, made]) == [made, strong])


def test_failures(folder):
    base = [sys.executable, str(ROOT / "tools/bench"), "cpu"]
    done = subprocess.run([*base, "--nets", "normed,alexnett"], capture_output=True, text=True)
    refusal = "no net alexnett; there are mlp, lenet"
    case("an unknown net is refused", done.returncode == 2 and refusal in done.stderr, done.stderr)
    case("groups are named, too", "and the groups normed, modern, sequences" in done.stderr, done.stderr)
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
    fields = dict(type="f16", device="GPU X", devices=4, neon_ms=2.5, alone_ms=2.0, computed_ms=2.4, modes={"graph": 5.0}, peer="PyTorch 2.11",
                  commit="abc", date="2026-01-01", command="c")
    devices = folder / "table_of_devices.jsonl"
    rows.append(rows.make_row(rows.OF_DEVICES, net="vgg-a", scaling="strong", plan="data", batch=256, **{**fields, "neon_ms": 0.5}), devices)
    rows.append(rows.make_row(rows.OF_DEVICES, net="alexnet", scaling="weak", plan="model", batch=512, **fields), devices)

    def table(*options):
        return subprocess.run([str(ROOT / "tools/benchmarks/table"), "--page", str(page), "--results", str(file), "--devices", str(devices), *options],
                              capture_output=True, text=True)

    case("--check sees an old table", table("--check").returncode == 1 and page.read_text() == PAGE)
    case("the table is written", table().returncode == 0 and table("--check").returncode == 0)
    text = page.read_text()
    case("the page around it stays", text.startswith("# Page\n") and text.endswith("-->\nend\n"))
    case("its rows", "| alexnet, 128 | f16 | GPU X | 1.00 | 2.00 (2.11, compile) | 2.00 | 1000 MiB; ? | abc, 2026-01-01 |" in text, text)
    weak = "| alexnet, 128 each, `dense: model` | f16 | 4 × GPU X | 2.50 | 2.00 | 0.800 | 2.40 (-4.0 %) | 5.00 (graph) | 2.00 | abc, 2026-01-01 |"
    strong = "| vgg-a, 256 of all | f16 | 4 × GPU X | 0.500 | 2.00 | 4.000 times | 2.40 (+380.0 %) | 5.00 (graph) | 10.00 | abc, 2026-01-01 |"
    case("rows of several GPUs, weak scaling first", f"{weak}\n{strong}\n" in text, text)
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
        kinds = {kind: f"{kind}: true" in spec for kind in ("each_step", "each_pixel")}
        case(f"labels of {name}", kinds == {"each_step": net.each_step, "each_pixel": net.each_pixel})
    peers = [peer for file in ("nets", "normed", "modern", "sequences") for peer in peers_of(file)]
    case("every net has a peer", peers == [name for name, net in NETS.items() if not net.of])


with tempfile.TemporaryDirectory() as name:
    test_turns(pathlib.Path(name))
    test_groups(pathlib.Path(name))
    test_outputs(pathlib.Path(name))
    test_devices(pathlib.Path(name))
    test_failures(pathlib.Path(name))
    test_rows()
    test_table(pathlib.Path(name))
    test_nets()
print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
sys.exit(not all(results))
