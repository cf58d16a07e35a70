#!/usr/bin/python3
"""Runs a command on disks that are full, fill up or are read-only, and proves that it says so, that nothing
that was there is lost, and that it goes on once there is room.

    disk.py --verify MODULE.py --folder EMPTY_FOLDER -- COMMAND ...

See sweep.py for the verifying module and {folder}; beside its functions it has SIZES, a small disk's size in KiB
for one checkpoint but not a history, and one for the metrics file but no checkpoint. Mounting needs root;
without it the cases are counted as skipped. The last line is "N passed, N failed, N skipped".
"""
import argparse
import os
import subprocess
import sys

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

    def remount(self, options):
        subprocess.run(["mount", "-o", "remount," + options, self.path], check=True)


class Cases:
    def __init__(self, arguments):
        self.folder, self.words = os.path.realpath(arguments.folder), arguments.command
        self.verify = load_module(arguments.verify)

    def command(self, folder):
        return [word.replace("{folder}", folder) for word in self.words]

    def run(self, folder, **options):
        result = subprocess.run(self.command(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=120, **options)
        assert result.returncode >= 0, f"ended by signal {-result.returncode}: {result.stdout}"
        return result.returncode, result.stdout

    def finish(self, folder):
        code, output = self.run(folder)
        assert code == 0, output
        self.verify.finished(folder, self.command(folder))

    def fills_up(self, kib):
        with Disk(self.folder, kib) as disk:
            code, output = self.run(disk.files)
            assert code == 0, f"training did not survive: {output}"
            assert "No space left on device" in output, output
            self.verify.failed(disk.files, code, output, False, self.command(disk.files))
            disk.remount("size=64m")
            self.finish(disk.files)

    def full_from_the_start(self):
        with Disk(self.folder, 64) as disk:
            with open(os.path.join(disk.path, "filler"), "wb") as filler:
                try:
                    while True:
                        os.write(filler.fileno(), b"x" * 4096)
                except OSError:
                    pass
            code, output = self.run(disk.files)
            assert code == 1 and "No space left on device" in output, (code, output)
            assert os.listdir(disk.files) == [], os.listdir(disk.files)
            os.remove(os.path.join(disk.path, "filler"))
            disk.remount("size=64m")
            self.finish(disk.files)

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

    def no_permission(self):
        with Disk(self.folder, 65536) as disk:
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
        "the disk becomes read-only": cases.read_only,
        "the folder is another user's": cases.no_permission,
    }
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
