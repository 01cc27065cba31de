"""A real FTP server (pyftpdlib) in a process of its own: `python ftp_server.py FOLDER [OPTION...]`.

Prints its port, serves FOLDER to anonymous users, and ends when its standard input does.
"""

import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path


def main(folder: str, options: list[str]) -> None:
    from pyftpdlib.authorizers import DummyAuthorizer  # type: ignore[import-untyped]
    from pyftpdlib.handlers import FTPHandler  # type: ignore[import-untyped]
    from pyftpdlib.servers import FTPServer  # type: ignore[import-untyped]

    logging.disable(logging.CRITICAL)

    class Handler(FTPHandler):  # type: ignore[misc]
        authorizer = DummyAuthorizer()
        auth_failed_timeout = 0

    Handler.proto_cmds = {verb: facts for verb, facts in FTPHandler.proto_cmds.items() if verb not in options}
    if "nobody" not in options:
        Handler.authorizer.add_anonymous(folder)
    Handler.use_encoding = "utf-8"
    server = FTPServer(("127.0.0.1", 0), Handler)
    print(server.address[1], flush=True)

    def end_with_input() -> None:
        sys.stdin.read()
        server.ioloop.call_later(0, lambda: server.close_all())

    threading.Thread(target=end_with_input, daemon=True).start()
    while server.ioloop.socket_map:
        server.serve_forever(timeout=0.05, blocking=False)


@contextlib.contextmanager
def real_server(folder: Path, *options: str) -> Iterator[int]:
    """The port of a server for the length of a test. Options are verbs it shall not know, or `nobody`: no anonymous."""
    command = [sys.executable, __file__, str(folder), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
