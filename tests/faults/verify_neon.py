"""What must hold in the folder of a training run, however it ended: neon -r 1 -H 1 -s {folder}/run.safetensors
-o {folder}/run.h5 -e N SPEC.

An uninterrupted run of the same spec, made by prepare(), keeps the checkpoint of every epoch. Any other run's
checkpoints must hold its bits at their epoch, and any other run's curves its values up to where the run got.
"""
import json
import os
import re
import struct
import subprocess
import zlib

import h5py
import numpy as np

EXPECTED_CALLS = ["fallocate", "fsync", "ftruncate", "link", "open", "pwrite", "rename", "unlink"]
SIZES = (200, 60)  # KiB: room for a checkpoint and the metrics file; for the metrics file alone
SMALL = FULL = (1, "no room for checkpoints")  # seen before the first step
FILLED = "run.safetensors"
CLOCK = ("time/epoch", "time/loss", "time/train/start_time", "time/train/end_time")  # differ from run to run

reference = {}  # "states": epoch to (tensors, position, callbacks); "curves": name to values


def contents(path):
    """Tensors and metadata of a checkpoint, every checksum checked (see neon/train/checkpoint.h)."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    text, data = content[8:8 + length], content[8 + length:]
    header = json.loads(text)
    metadata = header.pop("__metadata__")
    zeroed = re.sub(rb'("neon\.header_checksum":"crc32:)[0-9a-f]{8}', rb"\g<1>00000000", text)
    assert metadata["neon.header_checksum"] == "crc32:%08x" % zlib.crc32(zeroed), f"{path}: header"
    tensors = {name: data[slice(*item["data_offsets"])] for name, item in header.items()}
    sums = {name: "crc32:%08x" % zlib.crc32(value) for name, value in tensors.items()}
    assert sums == json.loads(metadata["neon.checksums"]), f"{path}: a tensor does not have its checksum"
    return tensors, metadata


def state(path):
    """What a run goes on from: epoch, and what must be the same in every run that gets there."""
    tensors, metadata = contents(path)
    position = json.loads(metadata["neon.position"])
    position.pop("seconds")
    position.pop("epoch_seconds", None)
    return position["epoch"], (tensors, position, metadata["neon.callbacks"])


def checkpoints(folder):
    """Epoch to path; whatever stands under such a name is sound and as the uninterrupted run had it."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        epoch, values = state(os.path.join(folder, name))
        assert values == reference["states"][epoch], f"{name} is not what the uninterrupted run had at epoch {epoch}"
        found.setdefault(epoch, name)
    return found


def curves(path):
    with h5py.File(path, "r") as file:
        values = {}
        file.visititems(lambda name, item: values.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        return values, file.attrs["status"], dict(file["time_markers"].attrs)


def epochs_of(words):
    return int(words[words.index("-e") + 1])


def prepare(folder, first, command):
    words = [*(first or command), "-H", "1000"]
    words[words.index("-e") + 1] = str(epochs_of(command))
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = [name for name in os.listdir(folder) if name.endswith(".safetensors")]
    reference["states"] = dict(state(os.path.join(folder, name)) for name in names)
    reference["curves"], status, _ = curves(os.path.join(folder, "run.h5"))
    assert status == "complete" and sorted(reference["states"]) == list(range(1, epochs_of(command) + 1))
    assert not any(np.isnan(values).any() for values in reference["curves"].values())


def restart(folder, command):
    """As a person goes on: from the checkpoint, once there is one."""
    path = os.path.join(folder, "run.safetensors")
    if not any(name.endswith(".safetensors") for name in os.listdir(folder)):
        return command
    ranks = ["-b", "cpu", *command[command.index("-m"):][:2]] if "-m" in command else []
    return [command[0], "resume", "-e", str(epochs_of(command)), *ranks, path]


def metrics(folder, epoch):
    """Every value is the uninterrupted run's or blank, blank is only what follows, and nothing that the checkpoint
    has lived through. A file that still is of the shorter run before a resume has room for that one only. Returns the
    status and whether all is there."""
    path = os.path.join(folder, "run.h5")
    if not os.path.exists(path):
        assert epoch == 0, "a checkpoint, but no metrics file"
        return "absent", False
    values, status, markers = curves(path)
    steps = len(reference["curves"]["cost/train"]) // len(reference["curves"]["epoch/cost"])
    blanks = whole = 0
    for name, right in reference["curves"].items():
        got = values[name]
        assert len(got) <= len(right) and got.dtype == right.dtype, f"{name}: {got.shape} {got.dtype}"
        whole += len(got) == len(right)
        blank = np.isnan(got)
        assert (np.sort(blank) == blank).all(), f"{name} has a hole: {got}"
        blanks += np.count_nonzero(blank)
        if name in CLOCK:
            continue
        assert np.array_equal(got[~blank], right[:len(got)][~blank]), f"{name} has wrong values: {got}, not {right}"
        lived = epoch * steps if name == "cost/train" else epoch
        assert not blank[:lived].any(), f"{name} lost what was before the checkpoint of epoch {epoch}: {got}"
    assert epoch <= markers["epochs_complete"] <= epoch + 1, f"{markers} at epoch {epoch}"
    assert status in ("running", "complete", "killed"), status
    assert status != "complete" or not blanks, "complete, and blank"
    return status, whole == len(reference["curves"]) and not blanks


def said_done(output):
    """The last epoch that the run said to be done; its checkpoint is saved after that."""
    return max((int(epoch) for epoch in re.findall(r"^epoch +(\d+)/\d+  cost", output, re.M)), default=0)


def newest(folder, output):
    epoch = max(checkpoints(folder), default=0)
    done = said_done(output)
    assert epoch in ((done - 1, done) if done else (epoch,)), f"epoch {done} was said to be done, {epoch} is there"
    return epoch


def killed(folder, output, command):
    metrics(folder, newest(folder, output))


def failed(folder, code, output, for_good, command):
    epoch = max(checkpoints(folder), default=0)
    lines = output.splitlines()
    assert re.search("No space left on device|Input/output error|no room for", output), f"nobody was told: {output}"
    assert len([line for line in lines if "cannot write the metrics file" in line]) <= 1, output
    left = [name for name in os.listdir(folder) if name.endswith(".part")]
    assert for_good or not left, f"left behind: {left}"
    errors = [line for line in lines if line.startswith("neon: ")]
    if code == 0:
        assert not errors and epoch == epochs_of(command), output
        return
    # Either nothing was begun, or all was trained and the last save failed: what was saved before stays.
    assert code == 1 and len(errors) == 1, output
    if said_done(output) == 0:
        assert "epoch" not in errors[0], output
        return
    assert said_done(output) == epochs_of(command), f"the training was given up: {output}"
    assert f"checkpoint of epoch {epochs_of(command)} not saved" in errors[0], output
    assert (f"the last checkpoint, of epoch {epoch}, is kept" if epoch else "no earlier checkpoint exists") in errors[0], output


def finished(folder, command):
    epochs = epochs_of(command)
    assert max(checkpoints(folder)) == epochs
    assert state(os.path.join(folder, "run.safetensors"))[0] == epochs
    assert metrics(folder, epochs) == ("complete", True)
    names = sorted(os.listdir(folder))
    older = [name for name in names if re.fullmatch(r"run\.\d+-\d+\.safetensors", name)]
    assert names == sorted(older + ["run.safetensors", "run.h5"]), f"left behind: {names}"
    # One more than -H 1 keeps: the last save was cut short before it pruned, and no other followed.
    assert len(older) <= 2, f"more than the history: {older}"
