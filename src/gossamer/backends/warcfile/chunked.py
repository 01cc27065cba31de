"""The body inside a chunked transfer coding (RFC 9112, 7.1), for payload digests that are taken without it."""


def without_chunks(body: bytes) -> bytes:
    """The octets that the chunks carry. What was cut short, or is no chunk, ends the body where it stands.

    A body without any chunk is returned as it is: some clients take the coding off and leave the header on.
    """
    pieces: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\n", at, at + 1024)
        size_text = body[at : end if end >= 0 else at].split(b";", 1)[0].strip()
        if not size_text or len(size_text) > 16 or size_text.strip(b"0123456789abcdefABCDEF"):
            return b"".join(pieces) if at else body
        size = int(size_text, 16)
        if size == 0:
            return b"".join(pieces)
        pieces.append(body[end + 1 : end + 1 + size])
        at = end + 1 + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1
        if at >= len(body):
            return b"".join(pieces)
