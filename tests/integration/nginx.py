"""A real web server with real files."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.debian import unpacked

_CONFIGURATION = """\
daemon off;
master_process off;
pid {place}/nginx.pid;
error_log {place}/error.log warn;
events {{ worker_connections 256; }}
http {{
  include {types};
  default_type application/octet-stream;
  access_log {place}/access.log;
  client_body_temp_path {place}/tmp;
  proxy_temp_path {place}/tmp;
  fastcgi_temp_path {place}/tmp;
  uwsgi_temp_path {place}/tmp;
  scgi_temp_path {place}/tmp;
  keepalive_requests 100000;
  gzip on;
  gzip_types text/plain text/css;
  server {{
    listen 127.0.0.1:{port};
    charset utf-8;
    location / {{ root {place}/root; index index.html; }}
  }}
}}
"""


@contextlib.contextmanager
def nginx_serving(place: Path, folders: Mapping[str, Path]) -> Iterator[str]:
    """nginx with these folders, by the names under which they are served; gives its address."""
    root = place / "root"
    root.mkdir()
    for name, folder in folders.items():
        (root / name).symlink_to(folder)
    links = "".join(f'<li><a href="/{name}/">{name}</a>' for name in folders)
    (root / "index.html").write_text(f"<!doctype html><title>documents</title><ul>{links}</ul>")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    types = unpacked("nginx-common") / "etc/nginx/mime.types"
    configuration = place / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(place=place, port=port, types=types))
    program = unpacked("nginx") / "usr/sbin/nginx"
    server = subprocess.Popen([program, "-e", place / "error.log", "-p", place, "-c", configuration])
    try:
        _wait_for(port, server, place / "error.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(200):
        if server.poll() is not None:
            raise RuntimeError(f"nginx ended at once: {log.read_text() if log.exists() else 'no log'}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError("nginx does not answer")
