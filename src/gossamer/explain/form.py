"""The canonical form of what a person wrote, and what it changed."""

import re
from collections.abc import Sequence

from gossamer.explain.story import Form
from gossamer.filter.canonical import Canonicaliser, Refusal
from gossamer.filter.identity import Identities
from gossamer.filter.query_rules import minimised
from gossamer.model.units import Fingerprint, HostKey, Url
from gossamer.seen.fingerprint import fingerprints

_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}
# RFC 3986, appendix B. It takes any text apart, and only says in which part two spellings differ.
_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_USERINFO = re.compile(r"(?<=//)[^/\\?#]*@")


def form_of(text: str, with_scheme: str, canonicaliser: Canonicaliser) -> Form:
    """The form of `text`; `with_scheme` is the same with the scheme that goes without saying."""
    found = canonicaliser.canonicalise(with_scheme)
    shown = _USERINFO.sub("", text)  # a password is nobody's to read here
    if isinstance(found, Refusal):
        return Form(shown, None, refused=found.reason)
    return Form(shown, found.url, found.host, found.origin, changes(text, with_scheme, found.url))


def fingerprints_of(url: Url, host: HostKey, key: int, identities: Identities) -> tuple[Fingerprint, ...]:
    """The fingerprint under which the configuration looks the URL up, and those that other settings of `identity` and
    `filter.minimise` would give: it may have entered under them."""
    return tuple(dict.fromkeys(fingerprints([identities.of(url, host), url, minimised(url)], key)))


def usual_fingerprints(
    urls: Sequence[Url], hosts: Sequence[HostKey], key: int, identities: Identities
) -> list[Fingerprint]:
    """Of many URLs the first of these each: that of the configuration."""
    return fingerprints(identities.of_all(urls, hosts), key)


def changes(text: str, with_scheme: str, url: Url) -> tuple[str, ...]:
    """What the canonical form changed, part by part. Nothing for text that was canonical."""
    if text == url:
        return ()
    found = []
    if with_scheme != text:
        found.append("https was added")
    scheme, authority, path, query, fragment = _split(with_scheme)
    new_scheme, new_authority, new_path, new_query, _ = _split(url)
    if scheme != new_scheme:
        found.append("the scheme is in lower case")
    found += _authority_changes(scheme.lower(), authority, new_authority)
    if path != new_path:
        found.append(_path_change(path, new_path))
    found += _query_changes(query, new_query)
    if fragment is not None:
        found.append("the fragment is dropped")
    return tuple(found) or ("spelt in the standard's form",)


def _split(text: str) -> tuple[str, str, str, str | None, str | None]:
    parts = _PARTS.fullmatch(text.strip())
    assert parts is not None  # every text matches
    return parts[1] or "", parts[2] or "", parts[3], parts[4], parts[5]


def _authority_changes(scheme: str, old: str, new: str) -> list[str]:
    found = []
    _, at, rest = old.rpartition("@")
    if at:
        found.append("user name and password are dropped")
    host, port = _host_and_port(rest)
    new_host, new_port = _host_and_port(new)
    if host != new_host:
        if host.lower() == new_host:
            found.append("the host is in lower case")
        elif host.lower().rstrip(".") == new_host:
            found.append("the host's final dot is dropped")
        else:
            found.append(f"the host is written {new_host}")
    if port != new_port:
        found.append("the default port is dropped" if port == _DEFAULT_PORTS.get(scheme) else "the port is rewritten")
    return found


def _host_and_port(authority: str) -> tuple[str, str]:
    host, colon, port = authority.rpartition(":")
    return (host, port) if colon and not port.endswith("]") else (authority, "")


def _path_change(old: str, new: str) -> str:
    if not old:
        return "an empty path is /"
    if re.search(r"/\.{1,2}(?:/|\Z)", old):
        return "dots in the path are resolved"
    if "%" in old + new:
        return "escapes in the path are folded"
    return "the path is rewritten"


def _query_changes(old: str | None, new: str | None) -> list[str]:
    if old == new:
        return []
    if not old:
        return ["an empty query is dropped"]
    if new is None:
        return ["the query is dropped"]
    before, after = old.split("&"), new.split("&")
    if sorted(before) == sorted(after):
        return ["parameters are sorted"]
    names = [part.partition("=")[0] for part in before]
    kept = {part.partition("=")[0] for part in after}
    dropped = list(dict.fromkeys(name for name in names if name not in kept))
    if dropped and len(before) > len(after):
        return [f"dropped from the query: {', '.join(dropped)}"]
    return ["escapes in the query are folded"]
