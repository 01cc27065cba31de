"""One spelling for percent-encoded text (RFC 3986, 6.2.2.1 and 6.2.2.2)."""

import re

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_UPPER = {f"%{byte:02x}": f"%{byte:02X}" for byte in range(256)}
_FOLDED = {text: chr(int(text[1:], 16)) if int(text[1:], 16) in _UNRESERVED else up for text, up in _UPPER.items()}

# A `%` that starts no escape may stand right before one: in `%%32e` decoding `%32` would make the new escape
# `%2e`, which the next reading would decode again. Such an escape is never decoded (groups 1 and 2 say so).
_ESCAPE = re.compile(r"((?<=%)|(?<=%[0-9A-Fa-f]))?(%[0-9A-Fa-f]{2})").sub


def _fold(match: re.Match[str]) -> str:
    escape = match[2].lower()
    return _FOLDED[escape] if match[1] is None else _UPPER[escape]


def fold_escapes(text: str) -> str:
    """Escapes of unreserved characters decoded, the hex digits of all others in upper case.

    Decodes once: what comes out is its own folded form. `%2F` stays `%2F`, `%zz` stays as it is.
    """
    return _ESCAPE(_fold, text)
