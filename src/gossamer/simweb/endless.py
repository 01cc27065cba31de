"""The hosts that a web of traps has beside its ordinary ones: the traps themselves, and the large honest hosts."""

from collections.abc import Iterable
from html import escape

from gossamer.model.units import Seconds
from gossamer.simweb.chance import hash64
from gossamer.simweb.config import SimWebConfig
from gossamer.simweb.honest import STYLES, honest_page, honest_targets
from gossamer.simweb.traps import HONEST_PAGES, KINDS, MANY_HOSTS, Asked, Shown, shown_at

_HTML = ("Content-Type", "text/html; charset=utf-8")
Answer = tuple[int, list[tuple[str, str]], bytes, Seconds]


class EndlessHosts:
    """Answers for `trap-KIND` and `large-KIND` in the zone of a web; for nothing where the web has no traps."""

    def __init__(self, config: SimWebConfig) -> None:
        self._seed = config.seed
        self._zone = config.zone
        self._pages = config.large_pages
        usual = 443 if config.tls else 80
        self._scheme = "https" if config.tls else "http"
        self._port = "" if config.port == usual else f":{config.port}"
        self.traps = _chosen(KINDS, config.trap_kinds)
        self.large = _chosen(STYLES, config.large_kinds) if config.large_pages else ()

    def base_of(self, host: str) -> str:
        return f"{self._scheme}://{host}{self._port}"

    def trap_host(self, kind: str) -> str:
        return f"trap-{kind}.{self._zone}"

    def large_host(self, kind: str) -> str:
        return f"large-{kind}.{self._zone}"

    def seeds(self) -> tuple[str, ...]:
        """The home pages of all of them."""
        hosts = (*map(self.trap_host, self.traps), *map(self.large_host, self.large))
        return tuple(f"{self.base_of(host)}/" for host in hosts)

    def honest_urls(self) -> dict[str, frozenset[str]]:
        """Host -> every URL on it that a crawl must not lose."""
        found = {
            host: frozenset(self.base_of(host) + target for target in honest_targets(kind, self._pages))
            for kind in self.large
            for host in (self.large_host(kind),)
        }
        for kind in self.traps:
            if kind not in MANY_HOSTS:
                host = self.trap_host(kind)
                about = (f"{self.base_of(host)}/about/{n}" for n in range(1, HONEST_PAGES + 1))
                found[host] = frozenset((f"{self.base_of(host)}/", *about))
        return found

    def kind_of(self, host: str) -> tuple[str, str] | None:
        """`trap` or `large`, and the kind; None for a host that is neither."""
        if not (self.traps or self.large):
            return None
        labels = host.removesuffix(f".{self._zone}").split(".")
        family, dash, kind = labels[-1].partition("-")
        if not dash or (len(labels) > 1 and kind not in MANY_HOSTS):
            return None
        there = self.traps if family == "trap" else self.large if family == "large" else ()
        return (family, kind) if kind in there else None

    def address_of(self, host: str) -> str | None:
        """127.200.x.x and above, so that no host shares one with an ordinary host, nor (but by chance) with another."""
        if self.kind_of(host) is None:
            return None
        mixed = hash64(self._seed, "address", host)
        return f"127.{200 + mixed % 50}.{(mixed >> 8) % 255}.{1 + (mixed >> 16) % 250}"

    def respond(self, host: str, target: str) -> Answer | None:
        """The answer, if the host is one of these."""
        known = self.kind_of(host)
        if known is None:
            return None
        if target == "/robots.txt":
            return 404, [_HTML], b"<p>none</p>\n", Seconds(0.0)
        family, kind = known
        if family == "large":
            shown = honest_page(kind, self._seed, self._pages, target)
        else:
            path, _, query = target.partition("?")
            shown = shown_at(kind, Asked(self._seed, host, self.base_of(host), path, query))
        if shown is None:
            return 404, [_HTML], b"<p>There is no such page.</p>\n", Seconds(0.0)
        if shown.redirect is not None:
            return 302, [_HTML, ("Location", shown.redirect)], b"<p>moved</p>\n", Seconds(0.0)
        return 200, [_HTML], _written(shown), Seconds(0.0)


def _chosen(kinds: Iterable[str], wanted: str) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if wanted == "all" or kind in wanted.split(","))


def _written(shown: Shown) -> bytes:
    links = "\n".join(f'<li><a href="{escape(link)}">more</a></li>' for link in shown.links)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(shown.title)}</title></head>\n'
        f"<body>\n{shown.text}\n<ul>\n{links}\n</ul>\n</body>\n</html>\n"
    ).encode()
