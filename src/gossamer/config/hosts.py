"""Settings by host: from `[fetch]`, the `[host]` sections and the environment, which holds the secrets, with the
operator's overrides."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gossamer.config.load import Config
from gossamer.config.overrides import HostOverrides
from gossamer.config.sections import FetchSection, HostSection
from gossamer.errors import ConfigError
from gossamer.extract.content_types import Kinds
from gossamer.fetch.http.options import HostOptions, Proxy
from gossamer.fetch.ports import WantedBodies
from gossamer.filter.host_table import HostTable, host_table
from gossamer.model.units import HostKey, Origin, Seconds

_PORTS = {"http": 80, "https": 443, "ftp": 21}


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Settings of one host: request options, minimum delay and the kinds of documents to keep.

    `options` are those of its origin `sent_to`. For other origins of the host they are `elsewhere`, without its header
    fields and credentials; None if the host has neither, so that there is no difference."""

    options: HostOptions = HostOptions()
    min_delay: Seconds | None = None  # None: the crawl's
    kinds: Kinds = field(default_factory=Kinds)
    elsewhere: HostOptions | None = None
    sent_to: tuple[str, int] = ("https", 443)  # scheme and port

    def options_for(self, origin: Origin, port: int) -> HostOptions:
        """The options of requests to an origin of this host, whose port is `port`."""
        if self.elsewhere is None or (origin.partition(":")[0], port) == self.sent_to:
            return self.options
        return self.elsewhere

    @property
    def wants(self) -> WantedBodies | None:
        """Decides whether the body of a response is wanted; None if every body is."""
        return None if self.kinds.everything else self.kinds

    @property
    def proxied(self) -> bool:
        return self.options.proxy is not None


class HostSettingsTable:
    """What applies to a host now: its own section where there is one, else the default; and the operator's overrides.

    A crawl has one table. Callers look a host up for each request and keep nothing, because a reload or the service
    may change the settings while the crawl runs. The service changes `overrides`, which have precedence and which
    `replace_with` keeps. The rules for URLs in `[host]` sections are part of the entry rules (`filter.rules`)."""

    def __init__(
        self,
        default: HostSettings | None = None,
        single: HostTable[HostSettings] | None = None,
        overrides: HostOverrides | None = None,
    ) -> None:
        self.default = default or HostSettings()
        self._single = single or HostTable()
        self.overrides = HostOverrides() if overrides is None else overrides
        self._delays = self.overrides.delays

    def for_host(self, host: HostKey) -> HostSettings:
        if not self._single.entries and not self._delays:  # called several times a page
            return self.default
        settings = self._single.for_host(host) or self.default
        return replace(settings, min_delay=self._delays[host]) if self._delays and host in self._delays else settings

    def replace_with(self, others: "HostSettingsTable") -> None:
        """Use these settings from the next request to each host on."""
        self.default, self._single = others.default, others._single


Fields = tuple[tuple[str, str], ...]


def host_settings_for(config: Config, environ: Mapping[str, str]) -> HostSettingsTable:
    """The settings of all hosts, without overrides. Raises ConfigError, with the key and, unless it is a secret, the
    value."""
    fetch = config.fetch
    headers = dict(fetch.headers)
    if fetch.accept_language is not None:
        headers = {"Accept-Language": fetch.accept_language, **headers}
    if fetch.ca_bundle is not None and not Path(fetch.ca_bundle).is_file():
        raise ConfigError("fetch.ca_bundle", f"no such file: {fetch.ca_bundle!r}")
    default = HostSettings(
        _options(
            tuple(headers.items()), None, None, fetch.verify, fetch.http2, _proxy(fetch, "fetch", environ), "fetch"
        ),
        None,
        Kinds(fetch.kinds),
    )
    single = {name: _host_settings(name, own, default, environ) for name, own in config.host.items()}
    return HostSettingsTable(default, host_table(single, "host"))


def _host_settings(name: str, section: HostSection, default: HostSettings, environ: Mapping[str, str]) -> HostSettings:
    """The default settings with what is different for this host."""
    key = f'host."{name}"'
    basic, bearer = _credentials(section, key, environ)
    theirs = {name.lower() for name in section.headers}
    inherited = tuple(field for field in default.options.headers if field[0].lower() not in theirs)
    options = _options(
        (*inherited, *section.headers.items()),
        basic,
        bearer,
        default.options.verify if section.verify is None else section.verify,
        default.options.http2 if section.http2 is None else section.http2,
        default.options.proxy if section.proxy is None and section.proxy_env is None else _proxy(section, key, environ),
        key,
    )
    kinds = default.kinds if section.kinds is None else Kinds(section.kinds, f"{key}.kinds")
    elsewhere = None
    if section.headers or section.auth is not None:
        elsewhere = replace(options, headers=default.options.headers, basic=None, bearer=None)
    delay = None if section.delay is None else Seconds(section.delay)
    return HostSettings(options, delay, kinds, elsewhere, _sent_to(name, section.origin, f"{key}.origin"))


def _sent_to(name: str, origin: str | None, key: str) -> tuple[str, int]:
    """The scheme and the port of an origin of this host; https and its port if there is none."""
    if origin is None:
        return "https", _PORTS["https"]
    scheme, _, authority = origin.removesuffix("/").lower().partition("://")
    port = authority.removeprefix(name.lower())
    number = port.removeprefix(":") or str(_PORTS.get(scheme, 0))
    valid = scheme in _PORTS and authority.startswith(name.lower()) and port[:1] in ("", ":") and number.isdecimal()
    if not valid or not 0 < int(number) < 65536:
        raise ConfigError(
            key, f"{origin!r} is not an origin of this host; expected https://{name}, or with http or a port"
        )
    return scheme, int(number)


def _options(
    headers: Fields,
    basic: tuple[str, str] | None,
    bearer: str | None,
    verify: bool,
    http2: bool,
    proxy: Proxy | None,
    key: str,
) -> HostOptions:
    try:
        return HostOptions(headers, basic, bearer, verify, http2, proxy)
    except ValueError as error:
        raise ConfigError(f"{key}.headers" if basic is None and bearer is None else key, str(error)) from None


def _credentials(
    section: HostSection, key: str, environ: Mapping[str, str]
) -> tuple[tuple[str, str] | None, str | None]:
    if section.auth_env is None:
        return None, None
    secret = _secret(section.auth_env, f"{key}.auth_env", environ)
    if section.auth == "bearer":
        return None, secret
    user, colon, password = secret.partition(":")
    if not colon:
        raise ConfigError(f"{key}.auth_env", f"the environment variable {section.auth_env} is not user:password")
    return (user, password), None


def _proxy(section: FetchSection | HostSection, key: str, environ: Mapping[str, str]) -> Proxy | None:
    if section.proxy_env is not None:
        key, value = f"{key}.proxy_env", _secret(section.proxy_env, f"{key}.proxy_env", environ)
    elif section.proxy:
        key, value = f"{key}.proxy", section.proxy
    else:
        return None
    try:
        return Proxy.parse(value)
    except ValueError as error:  # its message shows no credentials
        shown = f", not {section.proxy!r}" if section.proxy else ""
        raise ConfigError(key, f"{error}{shown}") from None


def _secret(variable: str, key: str, environ: Mapping[str, str]) -> str:
    value = environ.get(variable, "")
    if not value:
        raise ConfigError(key, f"the environment variable {variable} is not set, or empty")
    return value
