"""A site whose answers are written down byte for byte, heads included."""

import socketserver
import threading

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno"


class RawSite:
    """Serves `answers` by path while its block runs, on a port of its own."""

    def __init__(self, answers: dict[str, bytes], address: str = "127.0.0.1") -> None:
        self.answers = answers
        self._address = address

    def __enter__(self) -> "RawSite":
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while line := self.rfile.readline():
                    while self.rfile.readline().strip():
                        pass
                    self.wfile.write(outer.answers.get(line.split()[1].decode(), NOT_FOUND))

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            block_on_close = False

        self._server = Server((self._address, 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def base(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"


def answer(body: bytes, *more: str, kind: str = "text/html; charset=utf-8", length: bool = True) -> bytes:
    """A 200 with this body, as it goes over the wire."""
    fields = [f"Content-Type: {kind}", *more, *([f"Content-Length: {len(body)}"] if length else [])]
    return ("HTTP/1.1 200 OK\r\n" + "".join(f"{field}\r\n" for field in fields) + "\r\n").encode() + body


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
