"""CPU time of reading a robots.txt and of checking a path, ours and urllib.robotparser's in the same run.

.venv/bin/python -m benchmarks.bench_robots
"""

import platform
import random
import time
from collections.abc import Callable
from urllib.robotparser import RobotFileParser

from gossamer.fetch.robots import parse_robots

SEED = 9309
WORDS = ["search", "cart", "account", "login", "wp-content", "tags", "archive", "user", "images", "print", "api"]


def cpu_us(work: Callable[[], object], units: int, rounds: int = 7) -> float:
    """The least CPU time per unit over some rounds, in microseconds: what noise is left only adds."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least * 1e6 / units


def some_path(rng: random.Random) -> str:
    return "/" + "/".join(rng.choice(WORDS) + str(rng.randrange(50)) for _ in range(rng.randint(1, 4)))


def some_file(rng: random.Random, rules: int) -> bytes:
    """About a quarter of the rules have wildcards, as in large files of real sites."""
    lines = ["User-agent: *"]
    for number in range(rules):
        path, kind = some_path(rng), rng.random()
        if kind < 0.15:
            path = f"/*{rng.choice('?./')}{rng.choice(WORDS)}{number}"
        elif kind < 0.25:
            path += "/*/" + rng.choice(WORDS)
        elif kind < 0.3:
            path += "$"
        lines.append(f"{rng.choice(['Disallow', 'Allow'])}: {path}")
    return "\n".join(lines).encode()


def typical(rules: int) -> None:
    rng = random.Random(SEED)
    body = some_file(rng, rules)
    paths = [some_path(rng) for _ in range(500)]
    times = max(1, 2000 // rules)
    ours = parse_robots(body, "gossamer")
    theirs = RobotFileParser()
    theirs.parse(body.decode().splitlines())

    def parse_ours() -> None:
        for _ in range(times):
            parse_robots(body, "gossamer")

    def parse_theirs() -> None:
        for _ in range(times):
            RobotFileParser().parse(body.decode().splitlines())

    def check_ours() -> None:
        for path in paths:
            ours.verdict(path)

    # can_fetch says no before a file was "read"; mtime() tells it that one was.
    theirs.modified()

    def check_theirs() -> None:
        for path in paths:
            theirs.can_fetch("gossamer", path)

    parse = cpu_us(parse_ours, times), cpu_us(parse_theirs, times)
    check = cpu_us(check_ours, len(paths)), cpu_us(check_theirs, len(paths))
    print(
        f"{rules:6} rules   parse {parse[0]:9.1f} µs (urllib {parse[1]:9.1f}, x{parse[1] / parse[0]:.1f})"
        f"   check {check[0]:6.2f} µs (urllib {check[1]:7.2f}, x{check[1] / check[0]:.1f})"
    )


def hostile(name: str, body: bytes, path: str) -> None:
    rules = parse_robots(body, "gossamer")
    parse = cpu_us(lambda: parse_robots(body, "gossamer"), 1, rounds=3) / 1000
    check = cpu_us(lambda: [rules.allows(path) for _ in range(3)], 3, rounds=3)
    print(f"{name:<52} {len(rules):6} rules   parse {parse:6.1f} ms   check {check:9.1f} µs")


def main() -> None:
    print(f"robots.txt: CPython {platform.python_version()}, {platform.machine()}, seed {SEED}, CPU time, best of 7")
    for rules in (10, 100, 1000):
        typical(rules)
    agent = b"User-agent: *\n"
    many = range(100_000)
    long_path = "/" + "a" * 1000 + "b" + "a" * 1000
    plain = agent + b"".join(b"Disallow: /x%d\n" % n for n in many)
    starred = agent + b"".join(b"Allow:/*a%d\n" % n for n in many)
    hostile("RB-11: 100,000 lines", plain, "/x77777")
    hostile("as many with a star", starred, "/some/path?of=usual&size=1")
    hostile("as many with a star, path of 2,000 octets", starred, long_path)
    hostile("RB-14: eight stars", agent + b"Disallow: /*a*a*a*a*a*a*a*b\n", "/" + "a" * 200)
    near_miss = b"Allow:/*" + b"a" * 44 + b"c" + b"a" * 44 + b"\n"
    hostile("5,000 near misses, path of 2,000 octets", agent + near_miss * 5200, long_path)


if __name__ == "__main__":
    main()
