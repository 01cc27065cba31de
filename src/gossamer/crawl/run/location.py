"""Where a crawl is: the URLs of its store and its archive, and the kinds of stores there are.

A store is `sqlite:DIR`, the database in a crawl directory, `postgresql://HOST/DATABASE`, or another of `STORES`. An
archive is `file:DIR`, a folder of WARC files, by default the one in the crawl directory, or `s3://BUCKET/PREFIX`
(`gs:`, `az:`), objects of captures. `opener` opens both.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.memory import MemoryContactJournal, MemoryTables
from gossamer.backends.objects.address import SCHEMES, check_url
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.config.load import Config, split_cache_password
from gossamer.crawl.run.directory import DATABASE, CrawlDirectory
from gossamer.errors import ConfigError, MissingExtra
from gossamer.store.ports import ContactJournal, Tables


class StoreKind(NamedTuple):
    """What the stores with URLs of one scheme have in common."""

    form: str  # of the URLs, for messages
    open_tables: Callable[[str, Path, bool], Tables]
    """The tables of one worker, by the URL of the store, the directory of the worker, and whether a store that may lose
    commits will do."""
    open_journal: Callable[[CrawlDirectory], ContactJournal]
    """The contact journal that goes with them."""
    poll_seconds: float = 0.05  # between two looks for new orders
    in_directory: bool = False  # the tables are in the crawl's directory, which is what the URL names
    one_process: bool = False  # the store ends with the process that has made it
    is_shared: bool = False  # several workers can share it: the tables are `crawl.member.shared_store.SharedTables`


def _postgres_tables(url: str, directory: Path, unsafe: bool) -> Tables:
    try:
        from gossamer.backends.postgres.tables import PostgresTables  # not part of every installation
    except ImportError as error:
        raise MissingExtra("a store on PostgreSQL", error.name or "psycopg", "cluster") from error
    return PostgresTables(url, unsafe=unsafe)


STORES: dict[str, StoreKind] = {
    "sqlite": StoreKind(
        "sqlite:DIR",
        lambda url, directory, unsafe: SqliteTables(directory / DATABASE),
        lambda directory: ContactLog(directory.contacts),
        in_directory=True,
    ),
    "memory": StoreKind(
        "memory:",
        lambda url, directory, unsafe: MemoryTables(),
        lambda directory: MemoryContactJournal(),
        one_process=True,
    ),
    "postgresql": StoreKind(
        "postgresql://HOST/DATABASE",
        _postgres_tables,
        lambda directory: ContactLog(directory.contacts),
        poll_seconds=0.25,
        is_shared=True,
    ),
}
"""The scheme of a store's URL -> what is kept there. The first is that of a crawl whose directory alone is given."""


_ALIASES = {"postgres": "postgresql"}
"""Schemes that drivers accept as well."""


class CrawlLocation(NamedTuple):
    """Where a crawl is. Without `blobs` its archive is where it was when the crawl last started; without `store` its
    tables are in the directory."""

    directory: Path
    blobs: str | None = None
    store: str | None = None

    @classmethod
    def of(cls, config: Config) -> "CrawlLocation":
        """The crawl that a configuration names."""
        return cls(Path(config.dir), config.blobs, config.store)


def resolve_urls(options: Mapping[str, object]) -> dict[str, object]:
    """Options with both `dir` and `store` if one of them was given, and with an absolute `blobs`, which is remembered.
    Raises ConfigError naming the value that cannot be used."""
    found = dict(options)
    store = found.get("store")
    if store is not None and store_kind(str(store)).in_directory:
        directory = str(store).partition(":")[2]
        if Path(str(found.setdefault("dir", directory))) != Path(directory):
            raise ConfigError("store", f"{store} and --dir {found['dir']} are two directories; give one of them")
    elif store is None and found.get("dir") is not None:
        found["store"] = f"{next(iter(STORES))}:{found['dir']}"
    if (blobs := found.get("blobs")) is not None:
        folder = archive_folder(str(blobs))
        found["blobs"] = str(blobs) if folder is None else f"file:{folder.absolute()}"
    return found


def store_kind(url: str | None) -> StoreKind:
    """The kind of the store with this URL; None: in the directory. Raises ConfigError for a URL that names none."""
    if url is None:
        return next(iter(STORES.values()))
    scheme, colon, rest = url.partition(":")
    kind = STORES.get(_ALIASES.get(scheme, scheme))
    if kind is None or not colon or (kind.in_directory and not rest):
        forms = " or ".join(kind.form for kind in STORES.values())
        raise ConfigError("store", f"{shown_store(url)!r} is not a URL of the form {forms}")
    return kind


def shown_store(url: str) -> str:
    """The URL of a store for people: without its password."""
    return re.sub(r"([?&]password=)[^&]*", r"\1***", re.sub(r"(://[^:/@]*):.*@", r"\1@", url))


def is_on_server(location: CrawlLocation) -> bool:
    """Whether the store is neither in the directory nor in the process."""
    kind = store_kind(location.store)
    return not kind.in_directory and not kind.one_process


STORE_PASSWORD = ("postgres", "PGPASSWORD")
"""How URLs of stores with passwords begin, and the environment variable from which their driver takes a password."""


def take_password(url: str) -> tuple[str, str | None]:
    """The URL of a store without its password, and the password if it has one."""
    if (match := re.fullmatch(r"([a-z+]+://[^:/@]*):([^@]*)(@.*)", url)) is not None:
        return match[1] + match[3], unquote(match[2])
    if (match := re.fullmatch(r"([^?]*)\?(.*)", url)) is not None:
        given = match[2].split("&")
        kept = [each for each in given if not each.startswith("password=")]
        if len(kept) < len(given):
            (password,) = [each for each in given if each not in kept][-1:]
            return match[1] + ("?" + "&".join(kept) if kept else ""), unquote(password.partition("=")[2])
    return url, None


CACHE_PASSWORD = ("redis", "GOSSAMER_CACHE_PASSWORD")
"""The same of caches."""


def take_cache_password(url: str) -> tuple[str, str | None]:
    """The URL of a cache without its password, and the password if it has one. All servers of a cache have the same."""
    rest, password = split_cache_password(url)
    return rest, None if password is None else unquote(password)


def archive_folder(blobs: str | None) -> Path | None:
    """The folder of an archive; None without a URL, and for one in object storage. Raises ConfigError."""
    if blobs is None or in_object_storage(blobs):
        return None
    scheme, _, path = blobs.partition(":")
    if scheme != "file" or not path:
        raise ConfigError("blobs", f"{blobs!r} is not a URL of the form file:DIR or s3://BUCKET/PREFIX (gs:, az:)")
    return Path(path)


def in_object_storage(blobs: str | None) -> bool:
    """Whether an archive consists of objects. Raises ConfigError for a URL that names none."""
    if blobs is None or not blobs.startswith(tuple(f"{scheme}:" for scheme in SCHEMES)):
        return False
    check_url(blobs)
    return True
