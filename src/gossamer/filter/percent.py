"""One spelling for percent-encoded text (RFC 3986, 6.2.2.1 and 6.2.2.2)."""

_HEX = "0123456789abcdefABCDEF"
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_UPPER = {high + low: f"%{high}{low}".upper() for high in _HEX for low in _HEX}
_FOLDED = {
    digits: chr(int(digits, 16)) if chr(int(digits, 16)) in _UNRESERVED else upper for digits, upper in _UPPER.items()
}


def fold_escapes(text: str) -> str:
    """Escapes of unreserved characters decoded, the hex digits of all others in upper case.

    Decodes once: what comes out is its own folded form. `%2F` stays `%2F`, `%zz` stays as it is.
    """
    start, *parts = text.split("%")
    folded = [start]
    table = _FOLDED
    for part in parts:
        escape = table.get(part[:2])
        table = _FOLDED
        if escape is not None:
            folded.append(escape + part[2:])
            continue
        folded.append("%" + part)
        if not part or (len(part) == 1 and part in _HEX):
            # Decoding `%32` in `%%32e` would make the new escape `%2e`, which the next reading would decode again.
            table = _UPPER
    return "".join(folded)
