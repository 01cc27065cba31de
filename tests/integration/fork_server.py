"""Run as a program: has imported Gossamer, and forks a process of it for every order that comes by its socket.

A crawl takes half a second of processor time to import, and tests start hundreds of them. What is forked differs from
`python -m gossamer` in nothing but that: it has its own arguments, environment, directory and streams, no other open
file, and ends like any process.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import sys
from pathlib import Path

_CRAWL = (
    "gossamer.cli.main",
    "gossamer.crawl.run.assemble",
    "gossamer.cli.crawl",
    "gossamer.crawl.run.signals",
    "uvloop",
)
PRELOADED = {"crawl": _CRAWL, "serve": (*_CRAWL, "gossamer.cli.serve", "gossamer.service.server")}
MOST_BYTES = 1 << 17


def forked(asked: socket.socket) -> list[str] | None:
    """Returns in every new process, with its arguments; and None in this one when nobody will ask any more."""
    while True:
        message, streams, _, _ = socket.recv_fds(asked, MOST_BYTES, 3)
        if not message:
            return None
        reading, writing = os.pipe()
        if (between := os.fork()) == 0:
            # Its parent ends at once, and it becomes a child of whoever ordered it, to be waited for and signalled.
            if (process := os.fork()) != 0:
                os.write(writing, str(process).encode())
                os._exit(0)
            return _settled(json.loads(message), streams)
        os.waitpid(between, 0)
        asked.send(os.read(reading, 20))
        for descriptor in (reading, writing, *streams):
            os.close(descriptor)


def _settled(order: dict[str, object], streams: list[int]) -> list[str]:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 1 + max(map(int, os.listdir("/proc/self/fd"))))
    arguments, directory, environment = order["arguments"], order["directory"], order["environment"]
    assert isinstance(arguments, list) and isinstance(directory, str) and isinstance(environment, dict)
    constants = order["constants"]
    assert isinstance(constants, dict)
    for name, value in constants.items():
        owner, _, attribute = name.rpartition(".")
        assert hasattr(pkgutil.resolve_name(owner), attribute), name
        setattr(pkgutil.resolve_name(owner), attribute, value)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    return arguments


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))
    for name in PRELOADED[sys.argv[1]]:
        importlib.import_module(name)
    gc.freeze()  # what is shared with all that are forked stays shared
    channel = socket.socket(fileno=int(sys.argv[2]))
    found = forked(channel)
    with contextlib.suppress(OSError):
        channel.detach()
    if found is not None:
        sys.argv[1:] = found
        runpy.run_module("gossamer", run_name="__main__", alter_sys=True)
