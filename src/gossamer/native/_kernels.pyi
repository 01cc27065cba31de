from collections.abc import Callable, Iterable

def signature(text: str, most: int, least: int, /) -> bytes | None: ...
def base32(digest: bytes, /) -> str: ...
def without_fragments(hrefs: list[str], /) -> dict[str, None]: ...
def resolve_plain(
    refs: Iterable[str],
    base: str,
    origin: str,
    document: str,
    directory: str,
    host: str,
    links: dict[str, str],
    most: int,
    noise: bool,
    otherwise: Callable[[str], None],
    /,
) -> None: ...
