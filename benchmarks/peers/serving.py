"""The server of a round, in a process of its own, and its record of every request."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import uvloop

from benchmarks.peers.trouble import ADDRESSES, TroubledWeb
from gossamer.clock import SteadyClock
from gossamer.lab.simweb.config import SimWebConfig, at, from_json, to_json
from gossamer.lab.simweb.dns import NameServer
from gossamer.lab.simweb.server import HttpServer, Recorder, Request, listening_socket, read_log

_READY_SECONDS = 30.0


class Served:
    """A context manager: the web is served inside its block. `web` is the same web, for its ground truth."""

    def __init__(self, config: SimWebConfig, log: Path) -> None:
        self._config = config
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self.dns = ""
        self.web = TroubledWeb(config)

    def __enter__(self) -> "Served":
        self._log.touch()
        command = [sys.executable, "-m", "benchmarks.peers.serving", to_json(self._config), str(self._log)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0)
        self._process = process
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], _READY_SECONDS)
        line = process.stdout.readline() if readable else ""
        if not line:
            self.__exit__(None, None, None)
            raise RuntimeError("the server of the round did not start")
        ready = json.loads(line)
        self.dns = str(ready["dns"])
        self.web = TroubledWeb(at(self._config, port=int(ready["port"]), epoch=0.0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def count(self) -> int:
        """How many requests have been answered up to now (a tenth of a second ago)."""
        return self._log.read_bytes().count(b"\n")

    def requests(self) -> list[Request]:
        """The record. Complete once the block is left."""
        with self._log.open(encoding="utf-8") as lines:
            return read_log(lines)

    def hosts_file(self) -> str:
        """The names of the web as /etc/hosts has them."""
        web = self.web
        names = [*(str(host.name) for host in web.hosts), *map(web.endless.trap_host, web.endless.traps), *ADDRESSES]
        return "127.0.0.1 localhost\n" + "".join(f"{web.address_of(name)} {name}\n" for name in names)


async def _serve(config: SimWebConfig, log: Path) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    clock = SteadyClock()
    sock, check_peers = listening_socket(0)
    web = TroubledWeb(at(config, port=sock.getsockname()[1], epoch=clock.now()))
    names = NameServer(web.address_of, zone=config.zone, ttl=config.dns_ttl)
    transport, _ = await loop.create_datagram_endpoint(lambda: names, local_addr=("127.0.0.1", 0))
    recorder = Recorder(log, keep=False)
    server = HttpServer(web, clock, recorder, check_peers=check_peers)
    await server.start(sock)
    dns_port = transport.get_extra_info("sockname")[1]
    print(json.dumps({"port": web.config.port, "dns": f"127.0.0.1:{dns_port}"}), flush=True)
    loop.add_reader(sys.stdin.fileno(), _at_end, told)  # whoever started us is gone
    await told.wait()
    loop.remove_reader(sys.stdin.fileno())
    transport.close()
    await server.close()
    recorder.close()


def _at_end(told: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        told.set()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(from_json(sys.argv[1]), Path(sys.argv[2])))
