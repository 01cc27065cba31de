"""The options that are also keys of gossamer.toml: one table, from which the parser and the configuration are made."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gossamer.config.load import Config, layered, make_config, read_toml
from gossamer.crawl.run.location import resolve_urls
from gossamer.errors import ConfigError, UsageError

DEFAULT_FILE = Path("gossamer.toml")


@dataclass(frozen=True, slots=True)
class Option:
    """`--name` sets `key` of the configuration; `section.key` where a dot says so."""

    key: str
    kind: type[int] | type[float] | type[str] | type[bool]
    metavar: str
    help: str
    name: str = ""  # where it is not the key with hyphens
    repeated: bool = False  # may be given several times and makes a list

    @property
    def flag(self) -> str:
        return "--" + (self.name or self.key.replace("_", "-"))

    @property
    def destination(self) -> str:
        """Its name in the parser's result; dots would not do there."""
        return "option_" + self.key.replace(".", "__")


OPTIONS: tuple[Option, ...] = (
    Option("dir", str, "DIR", "crawl directory (default: crawl); crawl and serve resume an existing crawl"),
    Option("store", str, "URL", "store of the crawl: postgresql://HOST/DATABASE, or sqlite:DIR, the same as --dir DIR"),
    Option("unsafe_store", bool, "", "accept a PostgreSQL server that runs with fsync = off"),
    Option(
        "blobs",
        str,
        "URL",
        "archive of the crawl: file:DIR or s3://BUCKET/PREFIX (default: warc in the crawl's directory)",
    ),
    Option(
        "cache.url",
        str,
        "URL",
        "cache, which may be away: redis://HOST:PORT/DB, rediss://..., redis+sentinel://S1,S2,S3/NAME",
        "cache",
    ),
    Option("seeds", str, "FILE", "read seeds from FILE, one per line; - is standard input"),
    Option(
        "scope",
        str,
        "SCOPE",
        "host (default), domain, any, host:NAME, domain:NAME or tld:nz; several separated by commas",
    ),
    Option("max_pages", int, "N", "stop after N stored documents"),
    Option("min_pages", int, "N", "exit with status 3 if fewer than N documents are stored at the end"),
    Option("max_depth", int, "N", "follow at most N links from a seed (default: 20)"),
    Option(
        "order",
        str,
        "POLICY",
        "mercator (default), best-first, bfs, dfs, novelty, balance, importance, or the name of a plugin",
    ),
    Option("delay", float, "SECONDS", "wait at least this long between requests to a host (default: 1)"),
    Option("delay_factor", float, "X", "wait at least X times as long as the last response took (default: 10)"),
    Option("concurrency", int, "N", "visit at most N hosts at a time (default: 80)"),
    Option("workers", int, "N", "crawl with N processes, each with its own share of the domains (default: 1)"),
    Option("cluster.partitions", int, "N", "split the domains of a new crawl on PostgreSQL in N parts", "partitions"),
    Option("user_agent", str, "TEXT", "user agent; include a contact address"),
    Option("dns", str, "HOST:PORT", "name server to use; several separated by commas"),
    Option("allow_private", bool, "", "permit private and loopback addresses"),
    Option("allow_networks", str, "NETWORK", "permit private addresses of NETWORK (repeatable)", "allow-network", True),
    Option("recrawl.keep_fresh", bool, "", "keep running, and visit pages again when they are due", "keep-fresh"),
    Option("rehearse", float, "X", argparse.SUPPRESS),  # docs/RECRAWL.md
    Option("hooks", str, "NAME", "call the hook NAME of an installed package (repeatable)", "hook", True),
    Option("json", bool, "", "print a JSON object as the last line; the report goes to standard error"),
    Option("quiet", bool, "", "print no progress and no report"),
    Option("log.pages", str, "FILE", "append a line for each visited page to FILE; - is standard output", "log-pages"),
    Option(
        "search.queries", str, "TEXT", "take the first results of a search engine as seeds (repeatable)", "query", True
    ),
    Option("filter.exclude_domains", str, "DOMAIN", "do not crawl DOMAIN (repeatable)", "exclude-domain", True),
    Option("service.host", str, "ADDRESS", "bind to this address (default: 127.0.0.1)", "host"),
    Option("service.port", int, "N", "bind to this port (default: 8470; 0: any free port)", "port"),
    Option(
        "politeness.max_per_domain", int, "N", "make at most N page requests per registrable domain", "max-per-domain"
    ),
)


def add_options(parser: argparse.ArgumentParser, only: tuple[str, ...] | None = None) -> None:
    """Declare the options of the table but those of the service (or those with the keys `only`). None means "not
    given"."""
    for option in OPTIONS:
        if option.key.startswith("service.") if only is None else option.key not in only:
            continue
        if option.kind is bool:
            parser.add_argument(
                option.flag,
                dest=option.destination,
                action=argparse.BooleanOptionalAction,
                default=None,
                help=option.help,
            )
        else:
            parser.add_argument(
                option.flag,
                dest=option.destination,
                action="append" if option.repeated else "store",
                type=_READERS[option.kind],
                metavar=option.metavar,
                default=None,
                help=option.help,
            )


def config_from(
    arguments: argparse.Namespace, file: Path | None, remembered: Mapping[str, object] | None = None
) -> Config:
    """The configuration: defaults, then what the crawl remembers, then the file (`gossamer.toml` if there is one), then
    the options given.

    Raises UsageError for a file that cannot be read, ConfigError naming the key that cannot be.
    """
    path = file or DEFAULT_FILE
    keys = keys_of(file)
    given = {o.key: getattr(arguments, o.destination, None) for o in OPTIONS}
    try:
        layers = layered(remembered or {}, resolve_urls(keys))
        options = resolve_urls({key: value for key, value in given.items() if value is not None})
        return make_config(*_nested(layers, options))
    except ConfigError as error:
        raise UsageError(_explained(error, given, path if keys else None)) from error


def options_given(arguments: argparse.Namespace) -> dict[str, str]:
    """The options of the table that were given, by their keys."""
    found = {o.key: o.flag for o in OPTIONS if getattr(arguments, o.destination, None) is not None}
    # Commands that only read declare some of them themselves.
    found |= {key: f"--{key}" for key in ("dir", "store", "blobs") if getattr(arguments, key, None) is not None}
    return found


def keys_of(file: Path | None) -> dict[str, object]:
    """The keys of `file`, or of `gossamer.toml` if there is one. Raises UsageError."""
    path = file or DEFAULT_FILE
    return read_toml(path) if file is not None or path.is_file() else {}


def unsaid(remembered: Mapping[str, object], file: Mapping[str, object]) -> dict[str, object]:
    """What is remembered and not in the file. A key that is taken out of the file while the crawl runs is then not
    replaced by its own old value."""
    found = {name: value for name, value in remembered.items() if name not in file or isinstance(value, dict)}
    for name, value in found.items():
        now = file.get(name)
        if isinstance(value, dict) and isinstance(now, dict):
            found[name] = {key: own for key, own in value.items() if key not in now}
    return found


def _nested(file: Mapping[str, object], given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Options of a section put into the file's section, so that the section's other keys stay."""
    keys, options = dict(file), {}
    for key, value in given.items():
        section, dot, name = key.partition(".")
        if not dot:
            options[key] = value
            continue
        present = keys.get(section, {})
        if isinstance(present, dict):  # if not, the file is wrong and is refused by name
            keys[section] = {**present, name: value}
    return keys, options


def _explained(error: ConfigError, given: Mapping[str, object], file: Path | None) -> str:
    """The problem under the name by which the user set it: an option, or a key of the file."""
    options = {o.key: o.flag for o in OPTIONS if given.get(o.key) is not None}
    if error.key in options:
        return f"{options[error.key]}: {error.problem}"
    return f"{file}: {error}" if file is not None else str(error)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


_READERS: dict[type, Callable[[str], int | float | str]] = {int: _whole, float: _number, str: str}
