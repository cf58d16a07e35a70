"""What must hold in the folder of writer.cpp, however it ended. See its head for the contents."""
import os
import subprocess

import h5py
import numpy as np

EXPECTED_CALLS = ["fsync", "link", "open", "pwrite", "rename", "unlink"]
SIZES = (420, 120)
SMALL = (0, "No space left on device")
FULL = (1, "No space left on device")
FILLED = None
STEPS = 5


def epochs_of(command):
    return int(command[-1])


def checkpoint_epoch(folder, command):
    """Of the newest sound checkpoint, its contents verified by the writer; 0 when there is none."""
    result = subprocess.run([command[0], "check", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 0, f"no checkpoint can be used: {result.stderr}"
    last = result.stdout.splitlines()[-1]
    return 0 if last == "none" else int(last.split()[1])


def metrics(folder, epoch):
    """Every value is right or blank, and nothing that the checkpoint has lived through is blank."""
    path = os.path.join(folder, "run.h5")
    if not os.path.exists(path):
        assert epoch == 0, "a checkpoint, but no metrics file"
        return "absent", 0
    with h5py.File(path, "r") as file:
        cost, seconds = file["cost/train"][:], file["time/loss"][:]
        right = (1 / (1 + np.arange(len(cost)))).astype("f4")
        assert np.array_equal(cost[~np.isnan(cost)], right[~np.isnan(cost)]), f"wrong values {cost}"
        assert not np.isnan(cost[: epoch * STEPS]).any(), f"lost values before epoch {epoch}: {cost}"
        blank = np.isnan(cost)
        assert (np.sort(blank) == blank).all(), f"a hole: {cost}"
        assert np.array_equal(seconds[:epoch], np.arange(epoch) + 0.5), f"wrong values {seconds}"
        complete = file["time_markers"].attrs["epochs_complete"]
        assert epoch <= complete <= epoch + 1, f"epochs_complete is {complete} at epoch {epoch}"
        status = file.attrs["status"]
        assert status in ("running", "complete"), status
        assert status == "running" or not blank.any(), f"complete, and blank at {np.flatnonzero(blank)}"
        return status, int(np.count_nonzero(~blank))


def last_saved(output):
    """The epoch that the command began at or last said to be saved."""
    said = [line.split() for line in output.splitlines() if line.startswith(("start ", "saved "))]
    return max((int(epoch) for _, epoch in said), default=0)


def killed(folder, output, command):
    epoch, saved = checkpoint_epoch(folder, command), last_saved(output)
    assert saved <= epoch <= saved + 1, f"epoch {saved} was said to be saved, and {epoch} is there"
    metrics(folder, epoch)


def failed(folder, code, output, for_good, command):
    epoch = checkpoint_epoch(folder, command)
    assert last_saved(output) <= epoch <= last_saved(output) + 1, f"epoch {epoch} is there: {output}"
    assert "cannot" in output, f"a fault that nobody was told of: {output}"
    left = [name for name in os.listdir(folder) if name.endswith(".part")]
    assert for_good or not left, f"left behind: {left}"
    if code == 0:
        assert os.path.exists(os.path.join(folder, "run.h5")), "the run went on without a metrics file"
    else:  # only when the metrics file could not be made at all
        assert code == 1 and "saved" not in output, output


def finished(folder, command):
    epochs = epochs_of(command)
    assert checkpoint_epoch(folder, command) == epochs
    status, count = metrics(folder, epochs)
    assert (status, count) == ("complete", epochs * STEPS), (status, count)
    names = sorted(os.listdir(folder))
    older = [name for name in names if name.startswith("model.") and name != "model.safetensors"]
    assert names == sorted(older + ["model.safetensors", "run.h5"]), f"left behind: {names}"
    # One more than the history of 2: the last save was cut short before it pruned, and no other followed.
    assert len(older) <= 3, f"more than the history: {older}"
