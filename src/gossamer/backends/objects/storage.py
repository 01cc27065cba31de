"""The objects below one URL: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://ACCOUNT/CONTAINER/PREFIX`.

`?endpoint=URL` names another server than the provider's, `&region=NAME` its region. Credentials never are in a URL:
they come from the environment (`AWS_ACCESS_KEY_ID` and so on), from `~/.aws`, or from the role of the machine.
"""

import configparser
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import parse_qsl, urlsplit

import obstore
from obstore import exceptions
from obstore.store import from_url

from gossamer.errors import ArchiveError, ConfigError, StoreFailed

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

SCHEMES: Final = ("s3", "gs", "az")
PUT_SECONDS: Final = 4.0
"""A put that takes longer has failed; the object then goes to the spool. A put is part of a transaction, and PostgreSQL
ends a session that is idle in one for 5 seconds."""
DELIVERY_SECONDS: Final = 300.0
"""The same for a put from the spool."""
READ_SECONDS: Final = 60.0


class ObjectMissing(ArchiveError):
    """There is no object of this name."""


def check_url(url: str) -> None:
    """Raises ConfigError, naming the part that cannot be used."""
    _settings_in(url)


def _settings_in(url: str) -> tuple[str, dict[str, str]]:
    """The URL without its query, and the settings in that."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.netloc:
        raise ConfigError("blobs", f"{url!r} is not a URL of the form s3://BUCKET/PREFIX, gs:// or az://")
    if "@" in parts.netloc:
        raise ConfigError("blobs", "credentials do not belong into the URL; put them into the environment")
    settings = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in settings:
        if name not in ("endpoint", "region") or parts.scheme == "gs" or (name, parts.scheme) == ("region", "az"):
            raise ConfigError("blobs", f"{name!r} is not a setting of {parts.scheme}:// URLs")
    return parts._replace(query="", fragment="").geturl(), settings


class ObjectStorage:
    """Objects by name. Used from any thread. Methods that write raise StoreFailed, those that read ArchiveError."""

    def __init__(self, url: str, *, seconds: float = READ_SECONDS) -> None:
        """`seconds`: how long a request may take. Contacts nobody. Raises ConfigError."""
        place, settings = _settings_in(url)
        self.url = url
        self._seconds = seconds
        config: dict[str, str] = dict(settings)
        scheme = urlsplit(place).scheme
        endpoint = settings.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", "")
        if scheme == "s3":
            config = {**credentials_in(os.environ), **config}
            # The digest of the payload is most of the CPU time of a put (ADR 28). TLS protects the payload as well.
            config["unsigned_payload"] = str(not endpoint.startswith("http:")).lower()
        client: ClientConfig = {
            "timeout": timedelta(seconds=seconds),
            "connect_timeout": timedelta(seconds=min(seconds, 5.0)),
            "allow_http": endpoint.startswith("http:"),
        }
        # A request that has timed out is not repeated: retries are for connections that were closed, and for 5xx.
        retry: RetryConfig = {
            "max_retries": 2,
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=1),
                "base": 2,
            },
            "retry_timeout": timedelta(seconds=seconds / 2),
        }
        try:
            self._store = from_url(place, config=cast("S3Config", config), client_options=client, retry_config=retry)
        except (exceptions.BaseError, ValueError) as error:
            raise ConfigError("blobs", f"{url!r}: {_first_line(error)}") from error

    def put(self, name: str, data: bytes) -> None:
        """Store an object, whole or not at all. Raises StoreFailed; it may then be stored all the same, or be later."""
        with self._writing(name):
            obstore.put(self._store, name, data, use_multipart=False)

    def delete(self, name: str) -> None:
        """Nothing happens if there is none."""
        with self._writing(name), suppress(exceptions.NotFoundError):
            obstore.delete(self._store, name)

    def get(self, name: str) -> bytes:
        """A whole object. Raises ObjectMissing."""
        with self._reading(name):
            return bytes(obstore.get(self._store, name).bytes())

    def get_range(self, name: str, offset: int, length: int) -> bytes:
        """Part of an object: less than `length` bytes if it ends before that. Raises ObjectMissing."""
        try:
            with self._reading(name):
                return bytes(obstore.get_range(self._store, name, start=offset, length=length))
        except ObjectMissing:
            raise
        except ArchiveError:
            size = self.size(name)
            if size is None or offset + length <= size:
                raise
            return self.get(name)[offset:]

    def size(self, name: str) -> int | None:
        """The length of an object in bytes; None if there is none."""
        try:
            with self._reading(name):
                return int(obstore.head(self._store, name)["size"])
        except ObjectMissing:
            return None

    def names(self) -> Iterator[str]:
        """All objects below the prefix."""
        with self._reading(self.url):
            for chunk in obstore.list(self._store):
                yield from (str(each["path"]) for each in chunk)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except (exceptions.BaseError, OSError) as error:
            raise StoreFailed(f"{name}: {_first_line(error)}") from error

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (exceptions.NotFoundError, FileNotFoundError) as error:
            raise ObjectMissing(f"{name}: there is no such object in {self.url}") from error
        except (exceptions.BaseError, OSError) as error:
            raise ArchiveError(f"{name}: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    """What the driver says, without the debugging output below it."""
    return " ".join(str(error).partition("\n\nDebug source")[0].split())[:500]


def credentials_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The credentials and the region in `~/.aws`, for what the environment does not say."""
    found: dict[str, str] = {}
    profile, home = environment.get("AWS_PROFILE", "default"), Path(environment.get("HOME", "/nonexistent"))
    names = {
        "AWS_SHARED_CREDENTIALS_FILE": (home / ".aws/credentials", profile),
        "AWS_CONFIG_FILE": (home / ".aws/config", profile if profile == "default" else f"profile {profile}"),
    }
    values: dict[str, str] = {}
    for variable, (usual, section) in names.items():
        file = configparser.ConfigParser(interpolation=None)
        try:
            file.read(environment.get(variable, str(usual)), encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise ConfigError("blobs", f"cannot read the credentials: {_first_line(error)}") from error
        if file.has_section(section):
            values = {**file[section], **values}
    if "AWS_ACCESS_KEY_ID" not in environment and "aws_access_key_id" in values:
        for key in ("access_key_id", "secret_access_key", "session_token"):
            if f"aws_{key}" in values:
                found[key] = values[f"aws_{key}"]
    if not {"AWS_REGION", "AWS_DEFAULT_REGION"} & environment.keys() and "region" in values:
        found["region"] = values["region"]
    return found
