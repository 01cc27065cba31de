"""Did the content of a page change, or only its clock, its tokens and its advertisements?

Bodies that are equal to the byte are unchanged. Where they differ, the signatures of the texts decide
(`gossamer.sketch.minhash`, 64 bytes for a page): each byte stands for a sample of the text's shingles, and a date, a
counter, a token or a line of advertising is in one to three of them. A page without enough text for a signature is
judged by its digest alone.

How far two signatures are apart is about 64 times the share of shingles that one text has and the other has not. So a
page whose text differs in less than `TOLERATED` of its words counts as unchanged: ADR 29 says what that costs.
"""

from enum import StrEnum
from typing import Final, TypeAlias

from gossamer.sketch.minhash import distance

TOLERATED: Final = 3
"""Bytes of 64 that may differ."""


class Verdict(StrEnum):
    """What became of a page's content between two visits."""

    SAME = "the same to the byte"
    NOISE = "the same but for clocks, tokens or advertisements"
    CHANGED = "changed"


Content: TypeAlias = tuple[bytes, bytes | None]
"""What is known of a page's content: digest of the body, signature of its text (None: too little of it)."""


def verdict_on(before: Content, after: Content, tolerated: int = TOLERATED) -> Verdict:
    """Judge a second visit by the content that the first one found.

    The signature to keep after NOISE is the old one: compared with the latest each time, a page that changes a little
    at every visit would never count as changed.
    """
    digest, signature = before
    digest_now, signature_now = after
    if digest == digest_now:
        return Verdict.SAME
    if signature is None or signature_now is None:
        return Verdict.CHANGED
    return Verdict.NOISE if distance(signature, signature_now) <= tolerated else Verdict.CHANGED
