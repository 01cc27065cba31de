"""`python -m gossamer.lab.simweb`: serves the web that one line of JSON on standard input describes.

Started by `run.SimwebProcess`. Users run `gossamer simweb`.
"""

import json
import os
import sys
from pathlib import Path

from gossamer.clock import SharedClock
from gossamer.errors import GossamerError
from gossamer.lab.simweb.config import from_json
from gossamer.lab.simweb.run import run_forever


def main() -> int:
    order = json.loads(_first_line(sys.stdin.fileno()))
    try:
        return run_forever(
            from_json(json.dumps(order["config"])),
            http_port=int(order["http_port"]),
            dns_port=int(order["dns_port"]),
            log=Path(order["log"]) if order["log"] else None,
            until_eof_of=sys.stdin.fileno(),
            clock=SharedClock(Path(order["clock"])) if order.get("clock") else None,
        )
    except GossamerError as error:
        print(error, file=sys.stderr)
        return 1


def _first_line(descriptor: int) -> str:
    """Read unbuffered, so that the server can wait on the rest of the pipe."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 4096)
        if not piece:
            break
        line += piece
    return line.decode()


if __name__ == "__main__":
    sys.exit(main())
