#!/usr/bin/python3
"""Ranks of mpirun on two hosts. A host is a process that has a network, a name and mounts of its own; a cable joins both."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np

import ranks_test
import split_dense_test
from mpi_case import MpiCase, main, ranks_in
from ranks_test import IMAGES, NUMBERS

# mpirun starts its daemons with it: [OPTION..] HOST COMMAND...
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec nsenter --target "$(cat "$NEON_HOSTS/$host")" --net --uts --mount --wd="$PWD" sh -c "$*"
"""


class Host:
    def __init__(self, name, address, folder):
        self.name = name
        self.address = address
        command = ["unshare", "--net", "--uts", "--mount", "sh", "-c", 'hostname "$0" && echo there && exec sleep 1000', name]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.process.stdout.readline() != b"there\n":
            self.end()
            raise OSError("a process may have no network of its own here")
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(str(self.process.pid))

    def within(self, *command):
        """The command that runs that one on this host."""
        return "nsenter", "--target", str(self.process.pid), "--net", "--uts", "--mount", "--wd=.", *command

    def run(self, *command):
        subprocess.run(self.within(*command), check=True, capture_output=True)

    def join(self, other):
        """Lays a cable between both."""
        self.run("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", str(other.process.pid))
        for host in self, other:
            host.run("ip", "address", "add", host.address + "/24", "dev", "cable")
            for device in "lo", "cable":
                host.run("ip", "link", "set", device, "up")

    def end(self):
        self.process.kill()
        self.process.communicate()


class Hosts(MpiCase):
    def setUp(self):
        super().setUp()
        hosts = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, hosts, ignore_errors=True)
        agent = os.path.join(hosts, "agent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write(AGENT)
        os.chmod(agent, 0o755)
        self.environment.update(NEON_HOSTS=hosts, TMPDIR=hosts, OMPI_MCA_plm_rsh_agent=agent)
        self.alpha, self.beta = (self.host(*each, hosts) for each in [("alpha", "192.0.2.1"), ("beta", "192.0.2.2")])
        self.alpha.join(self.beta)
        self.addCleanup(self.end_all)

    def end_all(self):
        """Daemons that lost mpirun wait for it."""
        mark = f"NEON_HOSTS={self.environment['NEON_HOSTS']}\0".encode()
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{process}/environ", "rb") as file:
                if mark in file.read():
                    os.kill(int(process), signal.SIGKILL)

    def host(self, *arguments):
        out = Host(*arguments)
        self.addCleanup(out.end)
        return out

    def mpirun(self, ranks):
        """All ranks but the last are on the host of mpirun; two of four are on the other one."""
        there = 2 if ranks == 4 else 1
        return self.alpha.within("mpirun", "-H", f"alpha:{ranks - there},beta:{there}", "-np", str(ranks))

    def test_same_bits_as_on_one_host(self):
        for spec, ranks in (NUMBERS, 2), (NUMBERS, 4), (IMAGES, 3), (split_dense_test.NUMBERS, 3):
            spec = self.spec(spec)
            _, got = self.train(spec, ranks)
            ranks_test.Ranks.check_equal(self, got, ranks_test.Ranks.train(self, spec, 1)[1])
            self.check_same_bits(got, ranks_test.Ranks.train(self, spec, ranks)[1])

    def test_the_host_of_rank_0_alone_writes(self):
        """The other host may not even write to the folder."""
        spec = self.spec(NUMBERS)
        self.beta.run("mount", "--bind", self.folder, self.folder)
        self.beta.run("mount", "-o", "remount,ro,bind", self.folder)
        self.neon("-b", "cpu", "-r", "3", "-s", "m.safetensors", "-o", "m.h5", spec, under=self.mpirun(2),
                  environment={"NEON_NO_RUN_FOLDER": ""})
        (folder,) = os.listdir(self.path("runs"))
        self.assertIn("last.safetensors", os.listdir(self.path("runs/" + folder)))
        self.neon("eval", "-b", "cpu", "m.safetensors")

    def test_hosts_whose_files_differ_are_refused(self):
        for name, seed in ("d.npz", 1), ("other.npz", 2):
            rng = np.random.default_rng(seed)
            np.savez(self.path(name), x_train=rng.standard_normal((40, 3)).astype("f4"), y_train=rng.integers(0, 3, 40))
        spec = self.spec(NUMBERS, dataset="{NPZ: {path: d.npz}}")
        self.beta.run("mount", "--bind", self.path("other.npz"), self.path("d.npz"))
        self.fails(2, "-b", "cpu", spec, says="the ranks of a run must have the same data")
        self.beta.run("umount", self.path("d.npz"))
        self.beta.run("mount", "--bind", "/dev/null", self.path("d.npz"))
        self.fails(3, "-b", "cpu", spec, says="d.npz: expected a regular file")

    def test_a_rank_of_another_host_that_is_killed_ends_all(self):
        child = self.started(3)
        ids = ranks_in(self.folder)
        self.assertEqual(len(ids), 3)
        os.kill(ids[2], signal.SIGKILL)
        code, _, err = self.ended(child)
        self.assertEqual(code, 128 + signal.SIGKILL, err)
        self.assertRegex(err, "mpirun noticed that process rank 2 with PID .* on node beta exited on signal 9")
        self.check_gone(ids)

    def test_a_rank_of_another_host_that_hangs_ends_all(self):
        child = self.started(3)
        ids = ranks_in(self.folder)
        os.kill(ids[2], signal.SIGSTOP)
        code, _, err = self.ended(child, seconds=16)
        self.assertEqual(code, 1, err)
        (line,) = [line for line in err.splitlines() if line.startswith("neon: ")]
        self.assertRegex(line, r"^neon: rank 2 of 3 \(beta, CPU\) has not answered for \d+ seconds")
        self.check_gone(ids)

    def test_a_cut_cable_ends_all_ranks(self):
        """mpirun itself waits for the network; its time limit is an option of mpirun's."""
        child = self.started(2, "-s", "m.safetensors")
        ids = ranks_in(self.folder)
        self.assertEqual(len(ids), 2)
        end = time.monotonic() + 10
        while not os.path.exists(self.path("m.safetensors")) and time.monotonic() < end:
            time.sleep(0.01)
        self.alpha.run("ip", "link", "set", "cable", "down")
        self.check_gone(ids, seconds=16)
        self.end_all()
        err = child.communicate(timeout=10)[1]
        self.assertRegex(err, r"neon: rank 1 of 2 \(beta, CPU\) has not answered for \d+ seconds")
        self.neon("eval", "-b", "cpu", "m.safetensors")


def problem():
    """Why no host can be made here; empty: none."""
    missing = [program for program in ("ip", "nsenter", "unshare") if not shutil.which(program)]
    if missing:
        return f"there is no {missing[0]}"
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        try:
            hosts = []
            for name, address in ("alpha", "192.0.2.1"), ("beta", "192.0.2.2"):
                hosts.append(Host(name, address, folder))
                ends.callback(hosts[-1].end)
            hosts[0].join(hosts[1])
        except (OSError, subprocess.CalledProcessError) as error:
            return f"there are no hosts to be had here: {error}"
    return ""


if __name__ == "__main__":
    main(Hosts, problem())
