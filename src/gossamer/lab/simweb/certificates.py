"""Certificates for the simulated web over TLS, made with the `openssl` command when a name is first requested.

The authority is created when the server starts and removed when it stops. Hosts share certificates, a few to each, as
on the real web; a wildcard is not possible, because none may precede a top-level domain.
"""

import ssl
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gossamer.errors import CannotListen

NAMES_A_CERTIFICATE = 20

_COMMAND_SECONDS = 30.0
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """A certificate authority in a directory of its own, which `close` removes.

    Raises `CannotListen` if there is no `openssl` command, or if it fails.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gossamer-simweb-")
        place = Path(self._folder.name)
        self.ca_file = place / "ca.pem"
        self._ca_key = place / "ca.key"
        self._key = place / "hosts.key"
        self._issued = 0
        try:
            may = ("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
            _openssl(
                "req", "-x509", *_NEW_KEY, "-keyout", self._ca_key, "-out", self.ca_file, *_subject("simweb"), *may
            )
            # One key for all hosts: keys do not matter for testing a crawl.
            _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", self._key)
        except BaseException:
            self.close()
            raise

    def issue(self, names: Sequence[str]) -> tuple[Path, Path]:
        """A certificate for these names, and its key. Takes about 10 ms."""
        self._issued += 1
        certificate = self.ca_file.with_name(f"hosts-{self._issued}.pem")
        may = (
            *("-addext", f"subjectAltName={','.join(f'DNS:{name}' for name in names)}"),
            *("-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth"),
        )
        signed = ("-CA", self.ca_file, "-CAkey", self._ca_key)
        # Not as common name, which is limited to 64 characters.
        _openssl(
            "req", "-x509", "-key", self._key, "-out", certificate, *_subject(f"hosts {self._issued}"), *signed, *may
        )
        return certificate, self._key

    def close(self) -> None:
        self._folder.cleanup()


class HostCertificates:
    """`context` selects the certificate by the name that the client requests.

    Names that are not of the web get the certificate of the first ones, which is not valid for them.
    """

    def __init__(self, authority: Authority, names: Sequence[str]) -> None:
        self._authority = authority
        self._names = names
        self._group_of: Mapping[str, int] = {name: at // NAMES_A_CERTIFICATE for at, name in enumerate(names)}
        self._contexts: dict[int, ssl.SSLContext] = {}
        self.context = self._context_of(0)
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        # Session tickets belong to the first context, so that a session can be resumed with any certificate.
        connection.context = self._context_of(self._group_of.get((name or "").lower(), 0))

    def _context_of(self, group: int) -> ssl.SSLContext:
        context = self._contexts.get(group)
        if context is None:
            first = group * NAMES_A_CERTIFICATE
            context = self._contexts[group] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self._authority.issue(self._names[first : first + NAMES_A_CERTIFICATE]))
            context.set_alpn_protocols(["http/1.1"])
        return context


def _subject(name: str) -> tuple[str, ...]:
    return ("-subj", f"/O=gossamer simweb/CN={name}", "-days", "30")


def _openssl(*words: str | Path) -> None:
    command = ["openssl", *map(str, words)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_COMMAND_SECONDS, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise CannotListen("https needs the openssl command, which is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CannotListen(f"the openssl command did not answer within {_COMMAND_SECONDS:g} s") from error
    except subprocess.CalledProcessError as error:
        last_words = error.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no error message"]
        raise CannotListen(f"the openssl command failed: {last_words[0]}") from error
