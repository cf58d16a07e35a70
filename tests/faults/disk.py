#!/usr/bin/python3
"""Runs a command on disks that are full, fill up or are read-only, and proves that it says so, that nothing
that was there is lost, and that it goes on once there is room.

    disk.py --verify MODULE.py --folder EMPTY_FOLDER -- COMMAND ...

See sweep.py for the verifying module and {folder}; beside its functions it has SIZES, a small disk's size in KiB
for one checkpoint but not a history, and one for the metrics file but no checkpoint; SMALL and FULL, the exit code
and words on such disks and on a full one; and FILLED, a file after whose appearance another program fills the disk,
or None for a command too short for that. Mounting needs root; without it the cases are counted as skipped. The last
line is "N passed, N failed, N skipped".
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

from sweep import load_module

SKIPPED = 77  # Meson's


class Disk:
    """A small disk in memory, mounted while the block runs."""

    def __init__(self, path, kib):
        self.path, self.kib = path, kib

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.kib}k", "neon-test", self.path], check=True,
                       stderr=subprocess.DEVNULL)
        self.files = os.path.join(self.path, "files")
        os.mkdir(self.files)
        return self

    def __exit__(self, *ignored):
        subprocess.run(["umount", self.path], check=True)

    def fill(self):
        with open(os.path.join(self.path, "filler"), "wb", buffering=0) as filler:
            for size in 1 << 20, 4096:  # to the last page
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError:
                    pass

    def empty(self):
        os.remove(os.path.join(self.path, "filler"))

    def remount(self, options):
        subprocess.run(["mount", "-o", "remount," + options, self.path], check=True)


class Cases:
    def __init__(self, arguments):
        self.folder, self.words = os.path.realpath(arguments.folder), arguments.command
        self.verify = load_module(arguments.verify)
        if hasattr(self.verify, "prepare"):
            straight = os.path.join(self.folder, "straight")
            shutil.rmtree(straight, ignore_errors=True)
            os.makedirs(straight)
            self.verify.prepare(straight, [], self.command(straight))
            shutil.rmtree(straight)

    def command(self, folder):
        return [word.replace("{folder}", folder) for word in self.words]

    def run(self, folder, words=None, **options):
        result = subprocess.run(words or self.command(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=120, **options)
        assert result.returncode >= 0, f"ended by signal {-result.returncode}: {result.stdout}"
        return result.returncode, result.stdout

    def finish(self, folder):
        words = self.command(folder)
        code, output = self.run(folder, self.verify.restart(folder, words) if hasattr(self.verify, "restart") else words)
        assert code == 0, output
        self.verify.finished(folder, self.command(folder))

    def fills_up(self, kib):
        with Disk(self.folder, kib) as disk:
            code, output = self.run(disk.files)
            assert code == self.verify.SMALL[0] and self.verify.SMALL[1] in output, (code, output)
            self.verify.failed(disk.files, code, output, False, self.command(disk.files))
            disk.remount("size=64m")
            self.finish(disk.files)

    def full_from_the_start(self):
        with Disk(self.folder, 64) as disk:
            disk.fill()
            code, output = self.run(disk.files)
            assert code == self.verify.FULL[0] and self.verify.FULL[1] in output, (code, output)
            assert os.listdir(disk.files) == [], os.listdir(disk.files)
            disk.empty()
            disk.remount("size=64m")
            self.finish(disk.files)

    def filled_by_another(self):
        for _ in range(10):  # where the command ends before the disk is full, nothing was tested
            with Disk(self.folder, 8192) as disk:
                words, sign = self.command(disk.files), os.path.join(disk.files, self.verify.FILLED)
                with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
                    while not os.path.exists(sign) and child.poll() is None:
                        time.sleep(0.001)
                    disk.fill()
                    output, _ = child.communicate(timeout=120)
                if "No space left on device" not in output:
                    continue
                self.verify.failed(disk.files, child.returncode, output, True, words)
                disk.empty()
                return self.finish(disk.files)
        raise AssertionError(f"the command is too short for the disk to be filled meanwhile: {output}")

    def read_only(self):
        with Disk(self.folder, 65536) as disk:
            self.finish(disk.files)
            before = {name: self.content(disk.files, name) for name in os.listdir(disk.files)}
            disk.remount("ro")
            code, output = self.run(disk.files)
            assert code == 1 and "Read-only file system" in output, (code, output)
            assert before == {name: self.content(disk.files, name) for name in os.listdir(disk.files)}
            disk.remount("rw")
            self.finish(disk.files)

    # In a place that everybody reaches: the build may lie in a folder that is its owner's alone.
    def no_permission(self):
        with tempfile.TemporaryDirectory() as place, Disk(os.path.join(place, "disk"), 65536) as disk:
            os.chmod(place, 0o755)
            os.chmod(disk.files, 0o555)
            code, output = self.run(disk.files, user=65534, group=65534)
            assert code == 1 and "Permission denied" in output, (code, output)
            assert os.listdir(disk.files) == []

    @staticmethod
    def content(folder, name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--verify", required=True)
    parser.add_argument("command", nargs="+")
    cases = Cases(parser.parse_args())
    several, none = cases.verify.SIZES
    table = {
        "the disk fills up with checkpoints": lambda: cases.fills_up(several),
        "the disk has no room for a checkpoint": lambda: cases.fills_up(none),
        "the disk is full from the start": cases.full_from_the_start,
        "another program fills the disk": cases.filled_by_another,
        "the disk becomes read-only": cases.read_only,
        "the folder is another user's": cases.no_permission,
    }
    if not cases.verify.FILLED:
        table.pop("another program fills the disk")
    passed = failed = skipped = 0
    for name, body in table.items():
        try:
            body()
            passed += 1
        except (subprocess.CalledProcessError, PermissionError) as error:
            skipped += 1
            print(f"SKIPPED {name}: {error}")
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED {name}: {error!r}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else SKIPPED if skipped == len(table) else 0)


if __name__ == "__main__":
    main()
