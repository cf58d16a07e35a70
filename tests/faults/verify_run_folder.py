"""What must hold in the folder of a run, however the run ended: env -C {folder} neon -r 1 -e N SPEC, with -s or
without. An uninterrupted run, made by prepare(), has the best and the last net that any other must end with."""
import csv
import glob
import os
import subprocess

from verify_neon import contents, state

EXPECTED_CALLS = ["fallocate", "fsync", "ftruncate", "open", "pwrite", "rename"]
reference = {}


def runs(folder):
    """Folders of runs, the newest number last."""
    return sorted(glob.glob(os.path.join(folder, "runs", "tiny-*")), key=lambda path: int(path.rsplit("-", 1)[1]))


def nets(run):
    return {name: state(os.path.join(run, name + ".safetensors")) for name in ("best", "last")
            if os.path.exists(os.path.join(run, name + ".safetensors"))}


def prepare(folder, first, command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (run,) = runs(folder)
    reference.update(nets(run))
    assert sorted(reference) == ["best", "last"]


def restart(folder, command):
    if not any("last" in nets(run) for run in runs(folder)):
        return command
    return [*command[:3], command[3], "resume", "-e", command[command.index("-e") + 1]]


def killed(folder, output, command):
    for run in runs(folder):
        for name in os.listdir(run):
            path = os.path.join(run, name)
            if name.endswith(".safetensors") and os.path.exists(path):
                contents(path)


def failed(folder, code, output, for_good, command):
    killed(folder, output, command)
    assert code in (0, 1), output
    if code == 0 and is_complete(folder):
        return  # the fault cost nothing
    assert "No space left on device" in output or "no room for" in output, f"nobody was told: {output}"


def is_complete(folder):
    try:
        finished(folder, [])
        return True
    except (AssertionError, LookupError, OSError):
        return False


def finished(folder, command):
    run = [run for run in runs(folder) if "last" in nets(run)][-1]
    found = nets(run)
    for name in reference:
        assert found[name] == reference[name], f"{run}: {name} is not what the uninterrupted run had"
    with open(os.path.join(run, "results.csv"), newline="") as file:
        epochs = [int(row["epoch"]) for row in csv.DictReader(file)]
    assert epochs == list(range(1, reference["last"][0] + 1)), f"results.csv has epochs {epochs}"
    left = [name for name in os.listdir(run) if name.endswith((".part", ".new"))]
    assert not left, f"left behind: {left}"
