"""Inputs without end: a corpus, its tokens, and chance. Some microseconds each: a million of them take a minute."""

import random
from collections.abc import Sequence

MAX_BYTES = 1 << 16
_USUAL_BYTES = 2048
_INTERESTING = (b"\0", b"\r\n", b"\n", b"\r", b"\xff", b"\x80", b" ", b"\t", b'"', b"\\", b";", b",", b"%", b"<", b"&#")


class Mutator:
    """Makes inputs from a corpus. The same generator state gives the same input."""

    def __init__(self, corpus: Sequence[bytes], tokens: Sequence[bytes], chance: random.Random) -> None:
        self._corpus = [*corpus, b""]
        self._tokens = [*tokens, *_INTERESTING]
        self._chance = chance

    def next(self) -> bytes:
        chance = self._chance
        data = bytearray(chance.choice(self._corpus))
        # Mostly small changes; one input in a thousand is large.
        most = MAX_BYTES if chance.random() < 0.001 else _USUAL_BYTES
        for _ in range(1 + int(chance.expovariate(0.5))):
            self._change(data, most)
        return bytes(data[:most])

    def _change(self, data: bytearray, most: int) -> None:
        chance = self._chance
        at = int(chance.random() * (len(data) + 1))
        end = min(len(data), at + 1 + int(chance.expovariate(0.1)))
        match int(chance.random() * 9):
            case 0:
                data[at:at] = chance.choice(self._tokens)
            case 1:
                data[at:end] = chance.choice(self._tokens)
            case 2:
                data[at:at] = chance.randbytes(1 + int(chance.random() * 8))
            case 3:
                del data[at:end]
            case 4:
                if at < len(data):
                    data[at] ^= 1 << int(chance.random() * 8)
            case 5:
                del data[at:]
            case 6:
                other = chance.choice(self._corpus)
                data[at:] = other[int(chance.random() * (len(other) + 1)) :]
            case 7:
                data[at:at] = data[at:end] * (1 + int(chance.random() * 4))
            case _:
                token = chance.choice(self._tokens)
                times = (
                    int(chance.random() * most) // (len(token) + 1)
                    if most > _USUAL_BYTES
                    else 1 + int(chance.random() * 30)
                )
                data[at:at] = token * times
