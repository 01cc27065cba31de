"""How well near-duplicates are recognised: the tables of benchmarks/results/neardup.md.

`python -m benchmarks.neardup_quality --write` writes them. All comes from fixed seeds: the same tables everywhere.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gossamer.dedup import MAX_DISTANCE, NearDuplicates, NearMode
from gossamer.extract.crawl_page import extract_page
from gossamer.lab.simweb.chance import SLUGS, paragraphs
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.hosts import Kind, path_of
from gossamer.lab.simweb.page import VARIATIONS, Variation, near_copy
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant
from gossamer.sketch import distance

DOCUMENT = Path(__file__).parent / "results" / "neardup.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
_HTML = "text/html; charset=utf-8"


def sign(body: bytes) -> bytes | None:
    return extract_page(body, _HTML, "http://www.example/", sign=True).signature


def pages_of(config: SimWebConfig, count: int) -> Iterator[bytes]:
    """Pages of a simulated web, all different."""
    web = SimWeb(config)
    when = Instant(config.epoch + 1_000.0)  # when nothing fails any more
    left = count
    for host in web.hosts:
        for page in range(host.pages):
            if left and host.kind(page) is Kind.ORDINARY:
                left -= 1
                yield web.respond(host.name, path_of(host, page), when).body


def recall(config: SimWebConfig, count: int) -> dict[Variation, tuple[float, float, int]]:
    """By kind of planting: the share that is recognised, and the mean and the largest distance."""
    found: dict[Variation, list[int]] = {variation: [] for variation in VARIATIONS}
    for number, body in enumerate(pages_of(config, count)):
        original = sign(near_copy(body, 1, number, None))
        assert original is not None
        for variation in VARIATIONS:
            varied = sign(near_copy(body, 1, number, variation))
            assert varied is not None
            found[variation].append(distance(original, varied))
    return {
        variation: (sum(d <= MAX_DISTANCE for d in apart) / len(apart), sum(apart) / len(apart), max(apart))
        for variation, apart in found.items()
    }


def false_positives(bodies: Iterator[bytes]) -> Counter[str]:
    """Of pages that are all different: how many there are, are called near-duplicates, have no signature."""
    counts: Counter[str] = Counter()
    near = NearDuplicates(NearMode.MARK)
    for number, body in enumerate(bodies):
        counts["pages"] += 1
        signed = sign(body)
        if signed is None:
            counts["unsigned"] += 1
        elif near.judge(number, signed) is not None:
            counts["near"] += 1
    return counts


def short_articles(count: int, words: int, frame_words: int) -> Iterator[bytes]:
    """Articles of one site: a few sentences each in a frame that nothing in the mark-up tells from them."""
    rng = random.Random(f"articles/{words}/{frame_words}")
    menu = " ".join(f"<span>{rng.choice(SLUGS)}</span>" for _ in range(frame_words // 2))
    foot = " ".join(rng.choice(SLUGS) for _ in range(frame_words - frame_words // 2))
    pool = [word.decode() for text in paragraphs(1) for word in text[3:-5].split()]
    for number in range(count):
        text = " ".join(rng.choices(pool, k=words))
        yield (
            f"<html><head><title>Site, article {number}</title></head><body><div>{menu}</div>\n"
            f"<h1>Article {number}</h1>\n<p>{text}</p>\n<div>{foot}</div></body></html>"
        ).encode()


def tables(pages: int, planted: int) -> str:
    lines = [
        "Planted near-duplicates, each compared with its original. A page of the first web has about 12 kB and 1,150 "
        "words of its own, of the second 2.5 kB and 270, with what is put in.",
        "",
        "| differs by | recall, 12 kB | distance, mean / largest | recall, 2.5 kB | distance, mean / largest |",
        "|---|---|---|---|---|",
    ]
    large = recall(preset("demo"), planted)
    small = recall(preset("small", hosts=200, pages=max(2 * planted, 400)), planted)
    for variation in VARIATIONS:
        cells = [f"{share:.2%} | {mean:.2f} / {most}" for share, mean, most in (large[variation], small[variation])]
        lines.append(f"| {variation.value} | {' | '.join(cells)} |")
    lines += [
        "",
        "Pages that are all different, each compared with all before it.",
        "",
        "| pages | how many | called near-duplicates | share | without a signature |",
        "|---|---|---|---|---|",
    ]
    sets = {
        "simweb, 12 kB": pages_of(preset("demo", pages=2 * pages, max_host_pages=0), pages),
        "simweb, 2.5 kB": pages_of(preset("small", pages=2 * pages), pages),
        "one site: articles of 100 words, 200 words around each": short_articles(pages // 10, 100, 200),
        "one site: articles of 60 words, 200 words around each": short_articles(pages // 10, 60, 200),
        "one site: articles of 30 words, 200 words around each": short_articles(pages // 10, 30, 200),
    }
    for name, bodies in sets.items():
        counts = false_positives(bodies)
        share = counts["near"] / counts["pages"]
        lines.append(f"| {name} | {counts['pages']:,} | {counts['near']} | {share:.3%} | {counts['unsigned']} |")
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=20_000, help="different pages (%(default)s)")
    arguments.add_argument("--planted", type=int, default=1_000, help="originals to vary (%(default)s)")
    arguments.add_argument("--write", action="store_true", help=f"write the tables into {DOCUMENT.name}")
    asked = arguments.parse_args()

    made = tables(asked.pages, asked.planted)
    print(made)
    if asked.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        _, _, after = rest.partition(END)
        DOCUMENT.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
