"""One worker on this machine: a process `gossamer worker`, and the end of what it writes to standard error."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gossamer.config.load import Config
from gossamer.crawl.run.location import take_cache_password, take_password

CANNOT_START = 2
"""Exit status of a worker that would fail in the same way if it were started again."""
_KEPT = 8192
"""Bytes of the error output that are kept."""
_PREFIX = "gossamer: error: "
_LONGEST = 500  # characters of an error


class Ended(NamedTuple):
    """How a process has ended."""

    status: int
    error: str
    """The last line that it wrote to standard error; empty if there was none."""


class WorkerProcess:
    """A process that runs."""

    def __init__(self, process: asyncio.subprocess.Process, output: "_ErrorOutput") -> None:
        self._process, self._output = process, output

    @classmethod
    async def start(cls, config: Config, name: str, options: Sequence[str], parent: int) -> "WorkerProcess":
        """Start a worker of a crawl, with further `options` of `gossamer worker`. `parent` is the end of a pipe: when
        the other end is closed, the worker is killed."""
        unsafe = ("--unsafe-store",) if config.unsafe_store else ()
        store, password = take_password(str(config.store))  # everybody on this machine can read arguments
        _, cache_password = (None, None) if config.cache.url is None else take_cache_password(config.cache.url)
        secrets = {"PGPASSWORD": password, "GOSSAMER_CACHE_PASSWORD": cache_password}
        pages = () if config.log.pages is None else ("--log-pages", config.log.pages)
        output = _ErrorOutput()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gossamer", "worker", "--quiet", "--store", store, *unsafe, *pages),
                *("--dir", config.dir, "--name", name, *options, "--parent", str(parent)),
                pass_fds=(parent,),
                stdin=asyncio.subprocess.DEVNULL,
                stderr=output.writing,
                env={**os.environ, **{name: value for name, value in secrets.items() if value is not None}},
                start_new_session=True,  # Ctrl-C goes to this process, which stops them
            )
        except BaseException:
            output.close()
            raise
        finally:
            os.close(output.writing)
        return cls(process, output)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> Ended:
        """Wait for its end. Call it once."""
        status = None
        try:
            status = await self._process.wait()
        finally:
            error = self._output.close()
        return Ended(status, error)

    def terminate(self) -> None:
        """Have it leave; called again, at once."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()


class _ErrorOutput:
    """A pipe for the error output of a process, of which the end is kept. It need not be closed by all who write to it:
    a process that the worker has left behind may go on."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        self._kept = b""
        os.set_blocking(self._reading, False)
        asyncio.get_running_loop().add_reader(self._reading, self._take)

    def _take(self) -> bool:
        """Whether there was anything."""
        try:
            taken = os.read(self._reading, _KEPT)
        except BlockingIOError:
            return False
        self._kept = (self._kept + taken)[-_KEPT:]
        if not taken:
            asyncio.get_running_loop().remove_reader(self._reading)
        return bool(taken)

    def close(self) -> str:
        """Returns the last line."""
        while self._take():
            pass
        asyncio.get_running_loop().remove_reader(self._reading)
        os.close(self._reading)
        lines = self._kept.decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix(_PREFIX)[:_LONGEST] if lines else ""
