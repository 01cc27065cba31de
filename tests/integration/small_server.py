"""A site of a few pages that a test writes down, for what the simulated web does not do."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Answer:
    """What to say, and how long to think about it."""

    body: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    octets: bytes | None = None  # what to say, if that is no text


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its path, when it had arrived, when its answer was about to be sent, and its header fields."""

    path: str
    at: float
    answered_at: float
    headers: Message = field(default_factory=Message)


NOTHING = Answer("nothing here", 404)
GUESSED = "/sitemap.xml"
Site = Callable[[str, int], Answer]
"""Path, and how often it was asked for before."""


class SmallServer:
    """Serves a site on one address of this machine while its block runs. Times are wall-clock time.

    `dict` sites answer 404 to what they do not hold, robots.txt included. So does every other site to a sitemap guess.
    Guesses that are answered so are not among what was `asked`, but counted.
    """

    def __init__(
        self,
        site: Site | dict[str, Answer],
        address: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._site: Site = (lambda path, _: site.get(path, NOTHING)) if isinstance(site, dict) else site
        self._known = site if isinstance(site, dict) else None
        self._lock = threading.Lock()
        self._place = (address, port)
        self._tls = tls
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._closing = False
        self.asked: list[Asked] = []
        self.guesses = 0

    def __enter__(self) -> "SmallServer":
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body leave together

            def do_GET(self) -> None:
                if outer._is_guess(self.path):
                    with outer._lock:
                        outer.guesses += 1
                    self._send(NOTHING)
                    return
                at = time.time()
                with outer._lock:
                    before = sum(asked.path == self.path for asked in outer.asked)
                    place = len(outer.asked)
                    outer.asked.append(Asked(self.path, at, at, self.headers))
                answer = outer._site(self.path, before)
                if answer.delay:
                    threading.Event().wait(answer.delay)
                with outer._lock:
                    outer.asked[place] = Asked(self.path, at, time.time(), self.headers)
                self._send(answer)

            def _send(self, answer: Answer) -> None:
                body = answer.body.encode() if answer.octets is None else answer.octets
                self.send_response(answer.status)
                for name, value in {"Content-Type": "text/html", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: object) -> None:
                pass  # whoever asked has gone: that is what these tests are about

        self._server = Server(self._place, Handler)
        if self._tls is not None:
            # The handshake belongs to whoever serves the connection: a client without trust must hold up nobody.
            self._server.socket = self._tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._serve, args=(self._server,), daemon=True)
        self._thread.start()
        return self

    def _serve(self, server: ThreadingHTTPServer) -> None:
        # Not `serve_forever`, which looks many times a second whether it is to end: a hundred servers are a load then.
        while not self._closing:
            try:
                request, address = server.get_request()
            except OSError:
                continue
            server.process_request(request, address)

    def __exit__(self, *_: object) -> None:
        assert self._server is not None and self._thread is not None
        self._closing = True
        self._server.socket.shutdown(socket.SHUT_RDWR)  # wakes who is waiting for a connection
        self._thread.join()
        self._server.server_close()

    def _is_guess(self, path: str) -> bool:
        if self._known is None:
            return path == GUESSED
        return path.endswith(GUESSED) and path not in self._known  # what reaches a proxy is a whole URL

    @property
    def base(self) -> str:
        """What its URLs begin with, without the last slash."""
        assert self._server is not None
        host, port = self._server.server_address[:2]
        return f"{'http' if self._tls is None else 'https'}://{host!s}:{port}"

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.server_address[1])

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.path for asked in self.asked]


def links(*targets: str) -> Answer:
    """A page that links to these. Pages with other links are other documents."""
    return Answer("<!DOCTYPE html><title>x</title>" + "".join(f'<a href="{target}">{target}</a>' for target in targets))


def page(text: str) -> Answer:
    """A page of its own without links."""
    return Answer(f"<!DOCTYPE html><title>{text}</title><p>{text}")
