"""Configurable rules about noise in URLs, applied on top of the standard's canonical form."""

import re
from dataclasses import dataclass, field

from gossamer.filter.authority import BLOCKED_PORTS
from gossamer.model.units import Url

_TRACKING = (
    "gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid ysclid twclid ttclid li_fat_id igshid igsh mc_cid mc_eid "
    "mkt_tok _ga _gl _gac _hsenc _hsmi __hssc __hstc __hsfp hsctatracking vero_id vero_conv oly_anon_id oly_enc_id "
    "wickedid s_cid sc_cid ef_id epik ml_subscriber ml_subscriber_hash pk_campaign pk_kwd pk_source "
    "mtm_campaign mtm_source mtm_medium mtm_keyword mtm_content irclickid _openstat"
)
TRACKING_PARAMETERS: frozenset[str] = frozenset(_TRACKING.split())
"""Parameter names, in lower case, that identify a click or campaign and never change the document."""

TRACKING_PREFIXES: tuple[str, ...] = ("utm_",)

_SESSIONS = (
    "jsessionid phpsessid sid sessid sessionid session_id session-id cfid cftoken zenid oscsid osadcid osclid "
    "aspsessionid asp.net_sessionid"
)
SESSION_PARAMETERS: frozenset[str] = frozenset(_SESSIONS.split())
"""Parameter names, in lower case, that contain a visitor's session."""

# `;jsessionid=…` (Java servlets) ends at the next parameter or segment. Not after a segment of dots: removing it
# would leave a dot segment, and the URL would no longer be canonical.
_SESSION_PARAMETER = re.compile(r"(?<!/\.)(?<!/\.\.);(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE).sub
# `/(S(…))` (ASP.NET) is a segment of its own. Matched second, since a parameter may hide its end.
_SESSION_SEGMENT = re.compile(r"/\([A-Z]\([a-z0-9]{24}\)\)(?=/|\Z)", re.IGNORECASE).sub


KNOWN_SCHEMES = frozenset(("http", "https", "ftp"))


@dataclass(frozen=True, slots=True)
class CanonicalRules:
    """What the canonical form drops in addition to the standard. By default nothing."""

    drop_tracking: bool = False
    """Remove parameters of campaigns and clicks (`utm_source`, `gclid`, …)."""
    drop_sessions: bool = False
    """Remove session ids from query and path."""
    drop_query: bool = False
    """Remove the whole query."""
    sort_query: bool = False
    """Sort parameters by name (those of one name keep their order) and remove duplicates."""
    extra_parameters: frozenset[str] = frozenset()
    """More parameter names to remove, in lower case."""
    keep: frozenset[str] = frozenset()
    """Parameter names never to remove, in lower case."""
    max_text_chars: int = 8192
    """Longer text is refused without parsing. The finer limit, in bytes of the canonical form, is an entry rule."""
    blocked_ports: frozenset[int] = field(default=BLOCKED_PORTS)
    schemes: tuple[str, ...] = ("http", "https")
    """Schemes that can be fetched. `ftp` may be added; the canonical form of others is undefined."""

    def __post_init__(self) -> None:
        if not set(self.schemes) <= KNOWN_SCHEMES:
            raise ValueError(f"schemes must be among {sorted(KNOWN_SCHEMES)}, not {self.schemes}")

    @property
    def rewrite(self) -> bool:
        """Whether `rewrite_path` can change anything."""
        return bool(
            self.drop_tracking or self.drop_sessions or self.drop_query or self.sort_query or self.extra_parameters
        )


def rewrite_path(rest: str, rules: CanonicalRules) -> str:
    """Path and query (with folded escapes) without what the rules call noise. Idempotent."""
    path, _, query = rest.partition("?")
    if rules.drop_sessions and (";" in path or "(" in path):
        path = without_session(path)
    if rules.drop_query or not query:
        return path
    parts = query.split("&")
    kept = [part for part in parts if not _is_noise(part.partition("=")[0].lower(), rules)]
    if len(kept) < len(parts) or rules.sort_query:
        kept = [part for part in kept if part]
    if rules.sort_query:
        kept = sorted(dict.fromkeys(kept), key=_name)
    query = "&".join(kept)
    return f"{path}?{query}" if query else path


def without_session(path: str) -> str:
    """The path without the session ids in it."""
    return _SESSION_SEGMENT("", _SESSION_PARAMETER("", path)) or "/"


def _name(part: str) -> str:
    return part.partition("=")[0]


def _is_noise(name: str, rules: CanonicalRules) -> bool:
    return name not in rules.keep and (
        (rules.drop_tracking and (name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES)))
        or (rules.drop_sessions and name in SESSION_PARAMETERS)
        or name in rules.extra_parameters
    )


def minimise_url(url: Url) -> str:
    """The URL without scheme, `www.` and the path's final slash: an identity for the seen test, not an address.

    `http://www.h.test/a/` and `https://h.test/a` have the same one. `www.` stays if no dotted name would be left. The
    files of an FTP server are not those of a web server with the same name: such a URL is returned unchanged.
    """
    if url.startswith("ftp:"):
        return url
    rest = url.partition("://")[2]
    if rest.startswith("www.") and "." in rest[4:].partition("/")[0]:
        rest = rest[4:]
    path, mark, query = rest.partition("?")
    return path.removesuffix("/") + mark + query
