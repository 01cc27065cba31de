"""Whether a URL may enter the crawl: all entry rules as one value. Hot: benchmarks/bench_urls.py.

The value is immutable. To change the rules of a running crawl, make a new one (`dataclasses.replace`) and swap it in;
each decision uses either the old or the new value.

One of the rules finds traps by the URL alone: paths and queries that repeat themselves. It is safe enough to apply at
once, before anything was fetched. Traps that only show in what was fetched are found by `trap_budget`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gossamer.errors import ConfigError
from gossamer.filter.host_table import HostRules, HostTable, UrlPattern, is_trap_exempt
from gossamer.filter.scope import Scope, covering_suffix
from gossamer.model.units import Domain, HostKey, Url

REPEATS = "trap:repeats"
"""The reason for a URL that repeats itself."""

MAX_REPEATS = 3
"""How often the same segments may follow each other."""

_LONGEST_CYCLE = 5
_SCATTERED = 2  # a name may occur this many times as often anywhere in a path
_SHORTEST_NAME = 2


def repeats_itself(path: str, query: str, most: int = MAX_REPEATS) -> str | None:
    """What is repeated more than `most` times, as text; None for an ordinary URL.

    `path` is that of a URL from its first slash on (or the whole URL up to its query: scheme and host do not matter).
    Consecutive segments count (`/a/a/a/a`, `/x/y/x/y/x/y/x/y`), names anywhere in the path count if there are twice as
    many, and the same parameter with the same value. Numbers count only in a row, and half: maps have tiles.
    """
    if query and query.count("&") >= most:
        parts = query.split("&")
        if len(parts) - len(set(parts)) >= most:
            for part in dict.fromkeys(parts):
                if parts.count(part) > most:
                    return f"the parameter {part[:80]} {parts.count(part)} times"
    if path.count("/") <= most:
        return None
    segments = path.rstrip("/").split("/")
    distinct = set(segments)
    if len(segments) - len(distinct) < most:
        return None
    return _find_cycle(segments, most) or _find_scattered(segments, distinct, most)


def _find_cycle(segments: list[str], most: int) -> str | None:
    """The shortest sequence of segments that occurs more than `most` times in a row."""
    for length in range(1, _LONGEST_CYCLE + 1):
        needed = length * most  # this many consecutive segments equal the one `length` before them
        run = 0
        for i in range(length, len(segments)):
            run = run + 1 if segments[i] == segments[i - length] else 0
            if run < needed:
                continue
            cycle = segments[i - length + 1 : i + 1]
            if run >= _SCATTERED * needed or not all(map(str.isdigit, cycle)):
                return f"/{'/'.join(cycle)[:80]} more than {most} times in a row"
    return None


def _find_scattered(segments: list[str], distinct: set[str], most: int) -> str | None:
    for segment in distinct:
        if len(segment) >= _SHORTEST_NAME and not segment.isdigit():
            times = segments.count(segment)
            if times > _SCATTERED * most:
                return f"the segment {segment[:80]} {times} times"
    return None


# Only extensions that hardly occur in titles: encyclopaedias have pages called `Node.js`, `Kai.ai` and `Dark.ts`.
_UNWANTED = """
    7z apk arj bz2 cab cpio deb dmg exe gz iso jar lzma msi msix pkg rar rpm tar tbz2 tgz txz war whl xz zip zst
    3gp aac aif aiff asf avi flac flv m3u8 m4a m4b m4v mid midi mkv mov mp2 mp3 mp4 mpeg mpg oga ogg ogv opus
    swf wav webm wma wmv
    avif bmp eps gif heic heif ico jp2 jpeg jpg jxl png psd svg svgz tif tiff webp
    eot otf ttf woff woff2 css wasm dll dylib
"""
EXCLUDED_EXTENSIONS: frozenset[str] = frozenset(_UNWANTED.split())
"""Archives and programs, video and audio, images, fonts, style sheets. Documents are not excluded: PDF, office files,
text."""

_HOSTS_KEPT = 65_536


@dataclass(frozen=True)
class EntryRules:
    """What a URL must satisfy to enter. Two values are equal if their rules are."""

    scope: Scope = Scope(everything=True)
    excluded_domains: frozenset[Domain] = frozenset()
    """Including all names below them. Takes precedence over the scope."""
    include_patterns: tuple[UrlPattern, ...] = ()
    """If there are any, one must match."""
    exclude_patterns: tuple[UrlPattern, ...] = ()
    """None may match."""
    host_rules: HostTable[HostRules] = HostTable()
    """Additional rules for individual hosts."""
    schemes: tuple[str, ...] = ("http", "https")
    max_depth: int | None = 20
    """Links followed from a seed; None for no limit."""
    max_url_bytes: int = 2_083
    excluded_extensions: frozenset[str] = EXCLUDED_EXTENSIONS
    """Of the last path segment, in lower case, without the dot."""
    max_segments: int = 20
    max_parameters: int = 100
    max_repeats: int | None = MAX_REPEATS
    """Of the same segments or parameters in a URL; None for no limit."""

    _host_verdict: Callable[[HostKey], str | None] = field(init=False, repr=False, compare=False)
    _starts: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _any_pattern: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key in ("max_depth", "max_url_bytes", "max_segments", "max_parameters"):
            value = getattr(self, key)
            if value is not None and value < 0:
                raise ConfigError(key, f"must not be negative, is {value}")
        object.__setattr__(self, "_starts", tuple(f"{scheme}:" for scheme in self.schemes))
        patterns = self.exclude_patterns or self.include_patterns or self.host_rules
        object.__setattr__(self, "_any_pattern", bool(patterns))
        # The cache is not part of the value: changed rules start with an empty one.
        object.__setattr__(self, "_host_verdict", lru_cache(_HOSTS_KEPT)(self._judge_host))

    def may_enter(self, url: Url, host: HostKey, depth: int) -> str | None:
        """None if the URL may enter, else the reason: `bad_scheme`, `out_of_scope`, `excluded_domain`, `depth_limit`,
        `url_too_long`, `extension`, `pattern`, `trap_limit` (too many segments or parameters) or `trap:repeats`."""
        if self.max_depth is not None and depth > self.max_depth:
            return "depth_limit"
        if not url.startswith(self._starts):  # the scheme was disabled after the URL had entered
            return "bad_scheme"
        if len(url) > self.max_url_bytes:  # canonical URLs are ASCII
            return "url_too_long"
        verdict = self._host_verdict(host)
        if verdict is not None:
            return verdict
        path: str = url
        if "?" in url:
            path, _, query = url.partition("?")
            if query.count("&") >= self.max_parameters:
                return "trap_limit"
            if self.max_repeats is not None and "&" in query and self._find_repeats(path, query, host) is not None:
                return REPEATS
        slashes = path.count("/")
        if slashes - 2 > self.max_segments:
            return "trap_limit"
        if self.max_repeats is not None and slashes - 2 > self.max_repeats and self._find_repeats(path, "", host):
            return REPEATS
        if path.rfind(".") > path.rfind("/") and _extension(path) in self.excluded_extensions:
            return "extension"
        if self._any_pattern:
            return self._judge_patterns(url, host)[0]
        return None

    def for_sitemaps(self) -> "EntryRules":
        """The rules for sitemaps. Extensions and include patterns are about pages and do not apply."""
        return replace(self, excluded_extensions=frozenset(), include_patterns=())

    def explain_entry(self, url: Url, host: HostKey, depth: int) -> list[tuple[str, str]]:
        """Every rule in the order of evaluation, with `passes` or the reason, and the value that decided.

        The first that does not pass is what `may_enter` returns.
        """
        path, _, query = url.partition("?")
        segments, parameters = path.count("/") - 2, query.count("&") + 1 if query else 0
        deepest = "no limit" if self.max_depth is None else str(self.max_depth)
        too_deep = self.max_depth is not None and depth > self.max_depth
        extension = _extension(path)
        admitted = self.scope.admitted_by(host)
        excluded = covering_suffix(host, self.excluded_domains)
        pattern_reason, pattern = self._judge_patterns(url, host)
        trapped = segments > self.max_segments or parameters > self.max_parameters
        repeated = None if self.max_repeats is None else self._find_repeats(path, query, host)
        return [
            _line("depth", "depth_limit" if too_deep else None, f"{depth}, at most {deepest}"),
            _line("scheme", None if url.startswith(self._starts) else "bad_scheme", url.partition(":")[0]),
            _line(
                "length",
                "url_too_long" if len(url) > self.max_url_bytes else None,
                f"{len(url)} bytes, at most {self.max_url_bytes}",
            ),
            _line("excluded domains", excluded and "excluded_domain", excluded or "no match"),
            _line(
                "scope", None if admitted else "out_of_scope", admitted or f"{host} is outside the scope {self.scope}"
            ),
            _line("shape", "trap_limit" if trapped else None, f"segments: {segments}, parameters: {parameters}"),
            _line("repeats", repeated and REPEATS, repeated or "none"),
            _line("extension", "extension" if extension in self.excluded_extensions else None, extension or "none"),
            _line("patterns", pattern_reason, pattern),
        ]

    def _judge_host(self, host: HostKey) -> str | None:
        if covering_suffix(host, self.excluded_domains) is not None:
            return "excluded_domain"
        return None if self.scope.admitted_by(host) else "out_of_scope"

    def _find_repeats(self, path: str, query: str, host: HostKey) -> str | None:
        """What a URL repeats too often; None if nothing, or if its host is exempt."""
        assert self.max_repeats is not None
        found = repeats_itself(path, query, self.max_repeats)
        if found is None:
            return None
        return None if is_trap_exempt(self.host_rules, host) else found

    def may_be_cut(self, host: HostKey) -> bool:
        """Whether URLs of this host may be cut as a trap."""
        return self.max_repeats is not None and not is_trap_exempt(self.host_rules, host)

    def _judge_patterns(self, url: Url, host: HostKey) -> tuple[str | None, str]:
        reason, said = _match_patterns(url, self.include_patterns, self.exclude_patterns)
        own = self.host_rules.for_host(host)
        if reason is not None or own is None:
            return reason, said
        reason, said = _match_patterns(url, own.include, own.exclude)
        return reason, f"{said}, for this host"


def _match_patterns(
    url: Url, include: tuple[UrlPattern, ...], exclude: tuple[UrlPattern, ...]
) -> tuple[str | None, str]:
    for pattern in exclude:
        if pattern.matches(url):
            return "pattern", f"excluded by {pattern.text}"
    if not include:
        return None, "no exclude pattern matches"
    for pattern in include:
        if pattern.matches(url):
            return None, f"included by {pattern.text}"
    return "pattern", "no include pattern matches"


def _extension(path: str) -> str:
    """What follows the last dot, in lower case; "" if that is not in the last segment."""
    extension = path[path.rfind(".") + 1 :].lower()
    return "" if "/" in extension else extension


def _line(rule: str, reason: str | None, detail: str) -> tuple[str, str]:
    return rule, f"{reason or 'passes'} ({detail})"
