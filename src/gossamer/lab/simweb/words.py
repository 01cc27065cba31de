"""The words of the simulated web: those in its paths, and paragraphs of prose to fill pages with."""

import random
from functools import lru_cache

_SLUG_WORDS = """
    amber anchor apple arch atlas autumn basin beacon birch blossom border bottle branch bridge bronze brook
    cabin canal candle canyon castle cedar chalk cherry circle clay cliff cloud clover coast cobalt comet
    copper coral cotton cove crane creek crystal dawn delta desert drift dune dusk eagle echo elm
    ember engine falcon feather fern field flint forest fossil fountain frost garden garnet gate glacier glass
    gold granite grass gravel grove harbor harvest hazel heath heron hill hollow honey horizon iris iron
    island ivory ivy jade jasper kelp kettle lagoon lake lantern larch lark lemon lichen lily limestone
    linen lotus maple marble marsh meadow mint mist moon moss
"""
_SECTION_WORDS = """
    news guides reviews stories science travel history music sports food health culture business letters
    research people places notes projects recipes events gallery library reports
"""
_SYLLABLE_WORDS = "ka lo mi ren tas vo el dar ni su pa rin go the mar is un con ter al ver é sel qua"
_GLUE_WORDS = "the of and to in is that for on with as was by it from are be this which at or had its not were"

SLUGS = tuple(_SLUG_WORDS.split())
SECTIONS = tuple(_SECTION_WORDS.split())
PARAGRAPHS = 2048
ANCHORS = 1024

_SYLLABLES = tuple(_SYLLABLE_WORDS.split())
_GLUE = tuple(_GLUE_WORDS.split())


@lru_cache(maxsize=4)
def paragraphs(seed: int) -> tuple[bytes, ...]:
    """`PARAGRAPHS` paragraphs of HTML, 200 to 1,100 bytes each, the same for the same seed."""
    rng = random.Random(f"{seed}/paragraphs")
    # Many words, most of them rare as in real prose, so that two pages are not near-duplicates by accident.
    vocabulary = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(20_000)]
    sentences = [_sentence(rng, vocabulary) for _ in range(6000)]
    return tuple(
        f"<p>{' '.join(rng.choices(sentences, k=rng.randint(3, 9)))}</p>\n".encode() for _ in range(PARAGRAPHS)
    )


@lru_cache(maxsize=4)
def anchors(seed: int) -> tuple[str, ...]:
    """`ANCHORS` texts for links, each the rest of an `<a href="…` after the address."""
    rng = random.Random(f"{seed}/anchors")
    return tuple(f'">{" ".join(rng.choices(SLUGS, k=rng.randint(1, 4)))}</a>' for _ in range(ANCHORS))


def _sentence(rng: random.Random, vocabulary: list[str]) -> str:
    words = [rng.choice(_GLUE) if rng.random() < 0.4 else rng.choice(vocabulary) for _ in range(rng.randint(6, 20))]
    return f"{' '.join(words).capitalize()}."
