"""What tests of clusters share, and a way to run them where there is no network but loopback.

``python -m tests.cluster_setup COMMAND`` runs a command in a network namespace of its own, in which
127.0.0.1 is the only address; where the system does not allow that, it says so and runs it anyway.
"""

import ctypes
import os
import socket
import struct
import subprocess
import sys
from contextlib import contextmanager
from logging import CRITICAL
from pathlib import Path

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # CLONE_NEWUSER, CLONE_NEWNET
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
FLAGS = "16sH14x"  # struct ifreq: name and flags of an interface
ENTERED = "REJO_LOOPBACK_ONLY"


@contextmanager
def local_cluster(**options):
    """Give a cluster of processes on 127.0.0.1: two workers with a thread each, no dashboard.

    An item that kills its worker is tried only twice before Dask gives up.  A ``LocalCluster``
    closes the nanny of a worker that is absent 15 s after it was lost, also if it was there in
    between; tests lose workers more often than that.
    """
    import dask
    from distributed import LocalCluster

    defaults = dict(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # for its health; port 8787 is taken
        memory_limit="1GB",
        silence_logs=CRITICAL,
    )
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with (
        dask.config.set(settings),
        LocalCluster(**(defaults | options)) as cluster,
    ):
        yield cluster


@contextmanager
def separate_cluster(folder):
    """Give a scheduler in a process of its own, which may be killed, and a client.

    There are two workers.
    """
    from rejo.cluster import connect

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    few = ["--nthreads", "1", "--nworkers", "2", "--death-timeout", "20"]
    with (
        _command("scheduler", "--port", port) as process,
        _command("worker", address, *few, "--local-directory", os.fspath(folder)),
        connect(address, timeout=60) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield process, client


@contextmanager
def _command(name, *words):
    """Run a command of Dask, such as ``dask scheduler``."""
    words = [sys.executable, "-m", f"distributed.cli.dask_{name}", *words, "--host", "127.0.0.1"]
    words += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]  # of other pages
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, cwd=Path(__file__).parents[1], **quiet)
    try:
        yield process
    finally:
        process.kill()  # a worker sees that its nanny has gone, and ends
        process.wait(30)


def only_loopback():
    """Return whether this process runs where :func:`main` found a namespace of its own."""
    return ENTERED in os.environ


def main(command):
    """Run a command, without other networks if possible."""
    try:
        _enter()
        os.environ[ENTERED] = "1"
    except (OSError, AttributeError) as error:
        print(f"cluster tests: no network namespace here ({error}); other interfaces are up")
    sys.stdout.flush()
    os.execvp(command[0], command)


def _enter():
    user, group = os.geteuid(), os.getegid()
    try:
        _unshare(NEW_NETWORK)
    except PermissionError:  # only root may; any user may in a user namespace, if at all
        _unshare(NEW_USER | NEW_NETWORK)
        for name, line in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)
    _bring_up(b"lo")


def _unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)  # os.unshare is there from Python 3.12 on
    if libc.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _bring_up(interface):
    from fcntl import ioctl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = ioctl(any_socket, GET_FLAGS, struct.pack(FLAGS, interface, 0))
        flags = struct.unpack(FLAGS, answer)[1]
        ioctl(any_socket, SET_FLAGS, struct.pack(FLAGS, interface, flags | UP))


if __name__ == "__main__":
    main(sys.argv[1:])
