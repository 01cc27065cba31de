"""`python -m benchmarks.peers`: install the peers, play the rounds, print the table."""

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.peers.crawlers import CRAWLERS, GOSSAMER, NOT_MEASURED, CannotInstall, Crawler
from benchmarks.peers.match import Result, best, machine, play
from benchmarks.peers.report import as_json, markdown, plain
from benchmarks.peers.rounds import ROUNDS, Stop


def main() -> int:
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that crawlers and servers end with us
    versions: dict[str, str] = {}
    absent = dict(NOT_MEASURED)
    results: list[Result] = []
    for crawler in CRAWLERS:
        if crawler is not GOSSAMER and options.only and crawler.name not in options.only:
            continue
        try:
            _say(f"{crawler.name}: installing")
            crawler.install()
            versions[crawler.name] = crawler.version()
        except CannotInstall as error:
            absent[crawler.about] = f"cannot be installed here: {error}"
            continue
        results += _all_rounds(crawler, options.round, options.repeat, options.logs)
    if options.json:
        print(as_json(results, versions, machine()))
    else:
        print(markdown(results) if options.markdown else plain(results))
        print(machine())
        print(", ".join(f"{name} {version}" for name, version in versions.items()))
        for name, why in absent.items():
            print(f"not measured: {name}: {why}")
    return 0


def _all_rounds(crawler: Crawler, wanted: list[str] | None, repeat: int, logs: Path | None) -> list[Result]:
    results = []
    for match in ROUNDS:
        if wanted and match.name not in wanted:
            continue
        # Only where CPU is the question: the other rounds take long and are about something else.
        times = repeat if match.stop is Stop.NEVER and match.delay == 0 else 1
        _say(f"{crawler.name}: {match.name}")
        results.append(best(play(crawler, match, logs) for _ in range(times)))
        _say(plain(results[-1:]))
    return results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Gossamer beside other crawlers.")
    names = [crawler.name for crawler in CRAWLERS]
    parser.add_argument("--only", metavar="NAME", action="append", choices=names, help=f"one of {', '.join(names)}")
    parser.add_argument("--round", action="append", choices=[match.name for match in ROUNDS], help="only this round")
    parser.add_argument("--repeat", type=int, default=2, metavar="N", help="flat out: the best of N runs (default: 2)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="leave records and outputs there")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--markdown", action="store_true")
    return parser


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
