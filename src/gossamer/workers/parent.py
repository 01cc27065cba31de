"""Ends a worker with the process that has started it."""

import os
import signal
from threading import Thread


def end_with_parent(pipe: int) -> None:
    """Kill this process as soon as the other end of the pipe is closed: the process there has ended, however that came
    about. Nothing committed is lost, and what is not is fetched again."""

    def wait() -> None:
        while os.read(pipe, 1):
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    Thread(target=wait, name="parent", daemon=True).start()
