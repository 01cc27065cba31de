"""Certificates for the servers that tests fetch from, made anew for each run."""

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from tempfile import TemporaryDirectory

import trustme


class Authority:
    """A certificate authority; `ca_file` is what a client needs to believe it."""

    def __init__(self) -> None:
        self._ca = trustme.CA(key_type=trustme.KeyType.ECDSA)
        self._folder = TemporaryDirectory()
        path = Path(self._folder.name) / "ca.pem"
        self._ca.cert_pem.write_to_path(str(path))
        self.ca_file = str(path)

    def server_side(self, *names: str, alpn: tuple[str, ...] = (), expired: bool = False) -> SSLContext:
        """What a server for these names needs."""
        yesterday = datetime.now(UTC) - timedelta(days=1)
        leaf = self._ca.issue_cert(
            *names,
            key_type=trustme.KeyType.ECDSA,
            not_before=yesterday - timedelta(days=30) if expired else None,
            not_after=yesterday if expired else None,
        )
        context = SSLContext(PROTOCOL_TLS_SERVER)
        leaf.configure_cert(context)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context


@cache
def authority() -> Authority:
    return Authority()


@cache
def stranger() -> Authority:
    """One that nobody trusts."""
    return Authority()
