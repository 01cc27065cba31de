"""Resolves references that no URL parser would change, by concatenation. Hot: benchmarks/bench_urls.py.

This is the Python version, which defines the result; if a C compiler is available the same is done in C
(`gossamer.native`).
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from gossamer.native import kernels

# ASCII that the standard leaves unchanged in path and query. A colon in a relative path could end a scheme, two slashes
# begin a host.
CHARACTERS: Final = r"A-Za-z0-9\-._~!$&()*+,;=@"
_PLAIN = re.compile(rf"(?:/(?!/)[{CHARACTERS}/:]*|[{CHARACTERS}][{CHARACTERS}/]*)?(?:\?[{CHARACTERS}/:?]+)?").fullmatch
_SITE = re.compile(r"https?://[a-z0-9.\-]+(?::[0-9]+)?(?=[/?]|\Z)").match


def without_fragments_in_python(hrefs: list[str]) -> dict[str, None]:
    """The distinct references up to their `#`, in order.

    In `a #b` the space is part of the path, but once the fragment is removed it would be stripped as the end of the
    text. So if white space or a control character comes last, the `#` stays.
    """
    refs = {ref.partition("#")[0] if "#" in ref else ref: None for ref in hrefs}
    all_refs = "|".join(refs)
    if " |" in all_refs or all_refs[-1:] == " " or not all_refs.isprintable():
        refs = dict.fromkeys([_cut_fragment(ref) for ref in hrefs])
    return refs


def _cut_fragment(ref: str) -> str:
    mark = ref.find("#")
    if mark <= 0:
        return ref if mark else ""
    return ref[:mark] if ref[mark - 1] > " " else ref[: mark + 1]


def resolve_plain_in_python(
    refs: Iterable[str],
    base: str,
    origin: str,
    document: str,
    directory: str,
    host: str,
    sites: dict[str, tuple[str, str] | str],
    links: dict[str, str],
    most: int,
    noise: bool,
    otherwise: Callable[[str], None],
) -> None:
    """Resolve plain references and add them to `links`, each with its host, which is mostly the page's own.

    The base is a canonical URL, `document` the same without its query, `directory` up to its last slash. `sites` has
    the origin and host of other sites as pages write them (or the reason why they are refused). References that are not
    plain, have more than `most` characters or, with `noise`, may have to be rewritten are passed to `otherwise`, in
    order.
    """
    home = origin + "/"
    root = len(home)
    for ref in refs:
        url: str | None = None
        first = ref[:1]
        if first == "h" and ref.startswith(home):  # an absolute link to the page's own site
            path = ref[root - 1 :]
            if len(ref) <= most and _PLAIN(path) and "/." not in path and not (noise and _may_be_noise(path)):
                url = ref
        elif len(ref) > most:
            pass
        elif first == "h" and not noise and (known := _elsewhere(ref, sites)) is not None:
            links[known[0]] = known[1]
            continue
        elif not _PLAIN(ref) or (noise and _may_be_noise(ref)):
            pass
        elif first == "/":
            if "/." not in ref:
                url = origin + ref
        elif first == "." or "/." in ref:
            url = _ascended(directory, root, ref)
        elif first == "?":
            url = document + ref
        else:  # the empty reference (or a fragment) is the base itself
            url = directory + ref if ref else base
        if url is None:
            otherwise(ref)
        else:
            links[url] = host


def _elsewhere(ref: str, sites: dict[str, tuple[str, str] | str]) -> tuple[str, str] | None:
    """URL and host of a link to a known site; None if it is not plain, or the site is not known or refused."""
    start = _SITE(ref)
    site = None if start is None else sites.get(start[0])
    if start is None or site is None or isinstance(site, str):
        return None
    rest = ref[start.end() :]
    if not _PLAIN(rest) or "/." in rest:
        return None
    return site[0] + (rest if rest[:1] == "/" else "/" + rest), site[1]


def _ascended(directory: str, root: int, ref: str) -> str | None:
    """`directory + ref` with the leading `../`s of `ref` applied; None if there are dot segments elsewhere too."""
    start, end = 0, len(directory)
    while ref.startswith("../", start):
        start += 3
        end = max(root, directory.rfind("/", root, end - 1) + 1)
    if ref[start : start + 1] == "." or ref.find("/.", start) >= 0:
        return None
    return directory[:end] + ref[start:]


def _may_be_noise(ref: str) -> bool:
    return "?" in ref or ";" in ref or "(" in ref


without_fragments = without_fragments_in_python if kernels is None else kernels.without_fragments
resolve_plain = resolve_plain_in_python if kernels is None else kernels.resolve_plain
