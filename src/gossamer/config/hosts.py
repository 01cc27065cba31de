"""What a configuration wishes for hosts, as the values that a visit needs. Secrets come from the environment.

What the operator wishes for single hosts, as a visit needs it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gossamer.config.load import Config
from gossamer.config.sections import FetchSection, HostSection
from gossamer.errors import ConfigError
from gossamer.extract.content_types import Kinds
from gossamer.fetch.http.options import HostOptions, Proxy
from gossamer.filter.host_table import HostTable, host_table
from gossamer.model.units import HostKey, Seconds

Wants = Callable[[int, Mapping[str, str]], bool]
"""Whether the body of an answer with this status and these fields is to be read."""


@dataclass(frozen=True, slots=True)
class HostSettings:
    """How a host is asked, how long it is left alone at least, and what of it is kept."""

    options: HostOptions = HostOptions()
    min_delay: Seconds | None = None  # None: that of the crawl
    kinds: Kinds = field(default_factory=Kinds)

    @property
    def wants(self) -> Wants | None:
        """What to ask about the head of an answer; None if everything is wanted."""
        return None if self.kinds.everything else self.kinds.wants_head

    @property
    def proxied(self) -> bool:
        return self.options.proxy is not None


class HostSettingsTable:
    """The wish for every host: its own where there is one, else the usual one. A crawl has one of these, and whoever
    needs a wish asks for it each time, because wishes change while it runs."""

    def __init__(self, usual: HostSettings | None = None, single: HostTable[HostSettings] | None = None) -> None:
        self.usual = usual or HostSettings()
        self._single = single or HostTable()
        self.delays: Mapping[HostKey, Seconds] = {}  # that were ordered through the service; they stay

    def of(self, host: HostKey) -> HostSettings:
        if not self._single.entries and not self.delays:  # asked for several times a page
            return self.usual
        wish = self._single.of(host) or self.usual
        return replace(wish, min_delay=self.delays[host]) if self.delays and host in self.delays else wish

    def change_to(self, others: "HostSettingsTable") -> None:
        """Take over these wishes. They hold from each host's next request on."""
        self.usual, self._single = others.usual, others._single


Fields = tuple[tuple[str, str], ...]


def host_settings_for(config: Config, environ: Mapping[str, str]) -> HostSettingsTable:
    """The wishes for all hosts. Raises ConfigError with the key and, unless it is a secret, the value."""
    fetch = config.fetch
    headers = dict(fetch.headers)
    if fetch.accept_language is not None:
        headers = {"Accept-Language": fetch.accept_language, **headers}
    if fetch.ca_bundle is not None and not Path(fetch.ca_bundle).is_file():
        raise ConfigError("fetch.ca_bundle", f"there is no file {fetch.ca_bundle!r}")
    usual = HostSettings(
        _options(
            tuple(headers.items()), None, None, fetch.verify, fetch.http2, _proxy(fetch, "fetch", environ), "fetch"
        ),
        None,
        Kinds(fetch.kinds),
    )
    single = {name: _wish(own, usual, f'host."{name}"', environ) for name, own in config.host.items()}
    return HostSettingsTable(usual, host_table(single, "host"))


def _wish(own: HostSection, usual: HostSettings, key: str, environ: Mapping[str, str]) -> HostSettings:
    """The usual wish with what is different for this host."""
    basic, bearer = _credentials(own, key, environ)
    theirs = {name.lower() for name in own.headers}
    inherited = tuple(field for field in usual.options.headers if field[0].lower() not in theirs)
    options = _options(
        (*inherited, *own.headers.items()),
        basic,
        bearer,
        usual.options.verify if own.verify is None else own.verify,
        usual.options.http2 if own.http2 is None else own.http2,
        usual.options.proxy if own.proxy is None and own.proxy_env is None else _proxy(own, key, environ),
        key,
    )
    kinds = usual.kinds if own.kinds is None else Kinds(own.kinds, f"{key}.kinds")
    return HostSettings(options, None if own.delay is None else Seconds(own.delay), kinds)


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


def _credentials(own: HostSection, key: str, environ: Mapping[str, str]) -> tuple[tuple[str, str] | None, str | None]:
    if own.auth_env is None:
        return None, None
    secret = _secret(own.auth_env, f"{key}.auth_env", environ)
    if own.auth == "bearer":
        return None, secret
    user, colon, password = secret.partition(":")
    if not colon:
        raise ConfigError(f"{key}.auth_env", f"the variable {own.auth_env} does not hold user:password")
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
    except ValueError as error:  # which shows no credentials
        shown = f", not {section.proxy!r}" if section.proxy else ""
        raise ConfigError(key, f"{error}{shown}") from None


def _secret(variable: str, key: str, environ: Mapping[str, str]) -> str:
    value = environ.get(variable, "")
    if not value:
        raise ConfigError(key, f"the environment has no variable {variable}, or it is empty")
    return value
