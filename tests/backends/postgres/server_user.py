"""A process that uses the private server of a directory until its standard input ends: arguments DIR BINARIES."""

import sys
from pathlib import Path

import psycopg

from gossamer.backends.postgres.private_server import private_server
from tests.postgres_server import SETTINGS


def main() -> None:
    directory, binaries = map(Path, sys.argv[1:])
    with private_server(directory, places=[binaries], settings=SETTINGS) as server:
        with psycopg.connect(server.url) as db:
            db.execute("CREATE TABLE IF NOT EXISTS pages (id int)")
            db.execute("INSERT INTO pages VALUES (1)")
        print(server.pid, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
