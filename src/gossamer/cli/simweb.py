"""`gossamer simweb`: the simulated web alone, for crawls and benchmarks of your own."""

import argparse
from dataclasses import replace
from pathlib import Path

from gossamer.cli import argparse_types as given
from gossamer.clock import SharedClock
from gossamer.errors import UsageError

USAGE = "[--port P] [--hosts N --pages N --seed S] [options]"
DESCRIPTION = """\
Serve a simulated web on loopback: one HTTP port for all hosts, and a name
server that knows them. The same options always give the same web. Prints one
line of JSON when ready; Ctrl-C stops it.

With --tls it is served over https (needs the openssl command). "ca_file" in
that line names the root certificate; for a crawl, set ca_bundle in [fetch] of
gossamer.toml to it."""
EXAMPLE = """\
  gossamer simweb --port 8080 --dns-port 5300 --hosts 100 --pages 5000
  gossamer crawl http://... --dns 127.0.0.1:5300 --allow-private --scope tld:test

  gossamer simweb --tls --ca-file ca.pem --port 8443 --dns-port 5300
  printf '[fetch]\\nca_bundle = "ca.pem"\\n' > gossamer.toml
  gossamer crawl https://... --dns 127.0.0.1:5300 --allow-private --scope tld:test"""

_NUMBERS = ("hosts", "pages", "seed")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", metavar="P", type=int, default=0, help="HTTP port (default: any free one)")
    parser.add_argument("--dns-port", metavar="P", type=int, default=0, help="DNS port (default: any free one)")
    parser.add_argument("--hosts", metavar="N", type=int, help="number of hosts")
    parser.add_argument("--pages", metavar="N", type=int, help="number of URLs")
    parser.add_argument("--seed", metavar="S", type=int, help="seed of the random generator (default: 1)")
    parser.add_argument("--preset", metavar="NAME", default="demo", help="kind of web (default: demo)")
    parser.add_argument("--tls", action="store_true", help="serve https instead of http")
    parser.add_argument(
        "--ca-file",
        metavar="FILE",
        help="with --tls: write the root certificate to FILE (default: a temporary file)",
    )
    parser.add_argument("--clock", metavar="FILE", help=argparse.SUPPRESS)  # docs/RECRAWL.md, "A rehearsal"
    parser.add_argument("--log", metavar="FILE", help="write a line of JSON per request to FILE")


def run(arguments: argparse.Namespace) -> int:
    from gossamer.lab.simweb.config import preset
    from gossamer.lab.simweb.run import run_forever

    numbers = {name: n for name in _NUMBERS if (n := given.whole(arguments, name)) is not None}
    if {"hosts", "pages"} & numbers.keys():
        numbers.setdefault("max_host_pages", 0)  # the preset's cap was meant for its own size
    ca_file = given.path(arguments, "ca_file")
    if ca_file is not None and not arguments.tls:
        raise UsageError("--ca-file: requires --tls")
    return run_forever(
        replace(preset(str(given.text(arguments, "preset")), **numbers), tls=bool(arguments.tls)),
        http_port=_port(arguments, "port"),
        dns_port=_port(arguments, "dns_port"),
        log=given.path(arguments, "log"),
        ca_file=ca_file,
        clock=_clock(given.path(arguments, "clock")),
    )


def _clock(file: Path | None) -> SharedClock | None:
    """Its directory is made too, since the crawl comes later. Raises UsageError."""
    if file is None:
        return None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return SharedClock(file)
    except OSError as error:
        raise UsageError(f"--clock: cannot use {file}: {error.strerror}") from error


def _port(arguments: argparse.Namespace, name: str) -> int:
    port = given.whole(arguments, name) or 0
    if not 0 <= port <= 65_535:
        raise UsageError(f"--{name.replace('_', '-')}: {port} is not a port number")
    return port
