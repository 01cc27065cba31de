"""The objects below one URL (`address`), behind functions that raise our errors. The only import of obstore."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

import obstore
from obstore import exceptions
from obstore.store import from_url

from gossamer.backends.objects.address import credentials_in, settings_in
from gossamer.errors import ArchiveAway, ArchiveError, ConfigError, StoreFailed

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

READ_SECONDS: Final = 60.0
_DEBUG: Final = "\n\nDebug source"


class ObjectMissing(ArchiveError):
    """There is no object of this name."""


class AccessRefused(ArchiveAway):
    """There are no credentials, they are refused, or there is no such bucket: that does not pass by itself."""


_PROVIDERS: Final = {
    "s3": ("Amazon S3", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    "gs": ("Google Cloud Storage", "GOOGLE_SERVICE_ACCOUNT"),
    "az": ("Azure", "AZURE_STORAGE_ACCOUNT_KEY"),
}
"""By the scheme of the URL: the name of the provider, and the variables with the credentials."""
_ROLE_SERVERS: Final = ("//169.254.169.254", "//169.254.170.2", "//metadata.google.internal", "//metadata/")
"""The driver asks one of these for the credentials of the machine if there are no others."""
_REFUSED: Final = ("401 Unauthorized", "403 Forbidden")
_NO_ANSWER: Final = ("error sending request", "HTTP error", "timed out")


class ObjectStorage:
    """Objects by name. Used from any thread. Methods that write raise StoreFailed, those that read ArchiveError."""

    def __init__(self, url: str, *, seconds: float = READ_SECONDS) -> None:
        """`seconds`: how long a request may take. Sends no request. Raises ConfigError."""
        place, settings = settings_in(url)
        self.url = url
        self._seconds = seconds
        config: dict[str, str] = dict(settings)
        scheme = urlsplit(place).scheme
        endpoint = settings.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", "")
        if scheme == "s3":
            config = {**credentials_in(os.environ), **config}
            # The digest of the payload is most of the CPU time of a put (ADR 28). TLS protects the payload as well.
            config["unsigned_payload"] = str(not endpoint.startswith("http:")).lower()
        provider, self._credentials = _PROVIDERS[scheme]
        self._server = urlsplit(endpoint).netloc or provider
        self._bucket = urlsplit(place).netloc
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

    def create(self, name: str, data: bytes) -> None:
        """Store an object unless there is one of this name, as far as the storage can tell. Raises StoreFailed."""
        with self._writing(name), suppress(exceptions.AlreadyExistsError, exceptions.PreconditionError):
            try:
                obstore.put(self._store, name, data, mode="create", use_multipart=False)
            except (exceptions.NotSupportedError, exceptions.GenericError) as error:
                if not isinstance(error, exceptions.NotSupportedError) and "501 " not in str(error):
                    raise
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
            raise StoreFailed(self._refusal(error) or self._failure(name, error)) from error

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (exceptions.BaseError, OSError) as error:
            if (refusal := self._refusal(error)) is not None:
                raise AccessRefused(refusal) from error
            if isinstance(error, exceptions.NotFoundError | FileNotFoundError):
                raise ObjectMissing(f"{name}: there is no such object in {self.url}") from error
            raise ArchiveAway(self._failure(name, error)) from error

    def _refusal(self, error: Exception) -> str | None:
        """Why the storage cannot be used as it is, and the way out; None if that is not the reason."""
        said = str(error)
        if any(server in said for server in _ROLE_SERVERS):
            return f"no credentials for {self.url}: set {self._credentials}"
        if "<Code>NoSuchBucket<" in said:
            return f"bucket {self._bucket} does not exist on {self._server}; create it, or name another with --blobs"
        denied = isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError | PermissionError)
        if denied or any(status in said for status in _REFUSED):
            code = re.search(r"<Code>(\w+)<", said)
            return (
                f"{self._server} refused these credentials for {self.url}{f' ({code[1]})' if code else ''}; check "
                f"{self._credentials}, and the rights that they give"
            )
        return None

    def _failure(self, name: str, error: Exception) -> str:
        said = str(error)
        if not any(sign in said.partition(_DEBUG)[0] for sign in _NO_ANSWER):
            return f"{name}: {_first_line(error)}"
        reason = re.search(r'(?:message|error): "([^"]+)"', said)
        return f"{self._server} does not answer{f' ({reason[1]})' if reason else ''}"


def _first_line(error: BaseException) -> str:
    """What the driver says, without the debugging output below it."""
    return " ".join(str(error).partition(_DEBUG)[0].split())[:500]
