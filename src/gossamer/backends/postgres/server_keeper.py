"""The parent of a private PostgreSQL server: stops it when the last of its users is gone, however that ended.

`private_server.py` runs this file as a program, with nothing but the standard library:
`server_keeper.py USERS_LOCK SERVER_LOCK UID GID COMMAND...`. USERS_LOCK is a path; SERVER_LOCK is an inherited
descriptor, which the server inherits in turn; COMMAND is run as UID and GID, and logs to the standard output.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
from types import FrameType

_PR_SET_PDEATHSIG = 1  # prctl(2)


def keep(users_lock: str, server_lock: int, uid: int, gid: int, command: list[str]) -> None:
    """Run the server until no process holds `users_lock` or the server has ended."""
    keeper = os.getpid()
    library = ctypes.CDLL(None)

    def end_with_keeper() -> None:
        # After the change of the user, which would reset it. SIGINT: a fast shutdown.
        if sys.platform == "linux":
            library.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
            if os.getppid() != keeper:
                os._exit(1)

    def on_child(number: int, frame: FrameType | None) -> None:
        if server.poll() is not None:
            sys.exit(0)

    def on_signal(number: int, frame: FrameType | None) -> None:
        """The users get such signals too. The server stays until they have finished."""

    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    users = os.open(users_lock, os.O_RDWR)
    change = uid != os.geteuid()
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=end_with_keeper,
        pass_fds=(server_lock,),
        user=uid if change else None,
        group=gid if change else None,
        extra_groups=[] if change else None,
    )
    os.pwrite(server_lock, f"{server.pid}\n".encode(), 0)
    signal.signal(signal.SIGCHLD, on_child)
    on_child(signal.SIGCHLD, None)  # it may have ended before
    fcntl.flock(users, fcntl.LOCK_EX)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    server.send_signal(signal.SIGINT)
    server.wait()


if __name__ == "__main__":
    if os.fork():
        os._exit(0)  # the keeper outlives the user that has started it
    os.setsid()
    keep(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
