"""Near-duplicates: pages that differ from another in as little as pages on the web do, made by editing its HTML."""

import random
from datetime import date, timedelta
from enum import Enum

from gossamer.simweb.words import SLUGS, paragraphs


class Variation(Enum):
    """How a near-duplicate differs from its original."""

    ONE_BYTE = "one byte"
    ONE_WORD = "one word"
    DATE = "another date"
    ADVERTISEMENT = "another advertisement block"
    NAVIGATION = "reordered navigation"


VARIATIONS = tuple(Variation)

_FIRST_DAY = date(2012, 1, 1)
_MENU = 12  # links of the menu that a page is given where it has no navigation bar


def near_copy(body: bytes, seed: int, group: int, variation: Variation | None) -> bytes:
    """A page with a date, an advertisement and a menu put into it; varied, if asked. A function of its arguments."""
    rng = random.Random(f"{seed}/near/{group}")
    day = _FIRST_DAY + timedelta(days=rng.randrange(4000))
    advertisement = _advertisement(rng, seed)
    menu = [f"<span>{rng.choice(SLUGS)} {rng.choice(SLUGS)}</span>" for _ in range(_MENU)]
    match variation:
        case Variation.DATE:
            day += timedelta(days=rng.randrange(1, 400))
        case Variation.ADVERTISEMENT:
            advertisement = _advertisement(rng, seed)
        case Variation.NAVIGATION:
            rng.shuffle(menu)
            body = _shuffled_navigation(body, rng)
        case Variation.ONE_BYTE | Variation.ONE_WORD:
            body = _edited(body, rng, variation)
        case None:
            pass
    shown = f'<p class="date">Published on {day:%d %B %Y}, last seen {day:%Y-%m-%d}</p>\n'
    # A plain division, as most sites have it: nothing in the mark-up says that it is no text of the page.
    bar = f'<div class="menu">\n{chr(10).join(menu)}\n</div>\n'
    head, opening, rest = body.partition(b"<h1>")
    return b"".join(
        (head, bar.encode(), opening, rest.replace(b"</h1>\n", b"</h1>\n" + shown.encode() + advertisement))
    )


def _advertisement(rng: random.Random, seed: int) -> bytes:
    sentence = rng.choice(paragraphs(seed))[3:].partition(b".")[0]
    return b'<div class="offer"><b>Advertisement</b> %s. Buy now for %d.99</div>\n' % (sentence, rng.randrange(3, 300))


def _shuffled_navigation(body: bytes, rng: random.Random) -> bytes:
    before, opening, rest = body.partition(b"<nav>\n")
    bar, closing, after = rest.partition(b"\n</nav>")
    if not closing:
        return body
    links = bar.split(b"\n")
    rng.shuffle(links)
    return b"".join((before, opening, b"\n".join(links), closing, after))


def _edited(body: bytes, rng: random.Random, variation: Variation) -> bytes:
    """One letter or one word of a paragraph is another one."""
    starts = [i for i in range(len(body)) if body.startswith(b"<p>", i)]
    start = rng.choice(starts) + 3
    words = body[start : body.index(b"</p>", start)].split(b" ")
    place = rng.randrange(len(words))
    if variation is Variation.ONE_WORD:
        words[place] = rng.choice(SLUGS).encode() + b"ish"
    else:
        letter = rng.randrange(len(words[place]))
        words[place] = words[place][:letter] + b"z" + words[place][letter + 1 :]
    changed = b" ".join(words)
    return body[:start] + changed + body[body.index(b"</p>", start) :]
