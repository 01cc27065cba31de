"""How well the main text of pages is found: `main_text`, trafilatura, and the parser's own main text, in one run.

`python -m benchmarks.bench_text` from the root of the repository. Three sets of pages:

* 181 labelled articles (`../shared/data/text`): precision, recall and F1 over shingles of four words, and pages
  with a recall below 0.3;
* 60 pages of Python's library reference (Debian's `python3.11-doc`), evenly by name: pages with less than 30 % of the
  words of their main part;
* the CPU time per labelled page.
"""

import argparse
import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from gossamer.extract.main_text import main_text, trafilatura_text
from gossamer.extract.tree import page_tree
from tests.debian import unpacked

LABELLED = Path(__file__).resolve().parents[2] / "shared" / "data" / "text"
REFERENCE_PAGES = 60
LOW_RECALL = 0.3

_WORD = re.compile(r"\w+")
_SHINGLE = 4
_HTML = "text/html; charset=utf-8"

Extract = Callable[[bytes, str], str]


def fast(body: bytes, url: str) -> str:
    tree, _, _ = page_tree(body, _HTML)
    return main_text(tree, len(body)).text


def trafilatura(body: bytes, url: str) -> str:
    return trafilatura_text(body, "utf-8", url).text


def parser_only(body: bytes, url: str) -> str:
    """Without the guard."""
    tree, _, _ = page_tree(body, _HTML)
    return tree.main_text() or tree.to_text()


EXTRACTORS: dict[str, Extract] = {"fast": fast, "trafilatura": trafilatura, "parser only": parser_only}


class Quality(NamedTuple):
    precision: float
    recall: float
    low: int  # pages with a recall below LOW_RECALL

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    if not words:
        return Counter()
    return Counter(tuple(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1)))


def precision_and_recall(truth: str, found: str) -> tuple[float, float]:
    wanted, got = shingles(truth), shingles(found)
    both = (wanted & got).total()
    if wanted == got:
        return 1.0, 1.0
    return both / got.total() if got else 0.0, both / wanted.total() if wanted else 0.0


def labelled_pages(folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """The URL, the body and the text of each page."""
    for number, page in json.loads((folder / "ground-truth.json").read_text(encoding="utf-8")).items():
        yield page["url"], gzip.decompress((folder / "html" / f"{number}.html.gz").read_bytes()), page["articleBody"]


def quality(extract: Extract, folder: Path) -> Quality:
    """The means over all labelled pages."""
    results = [precision_and_recall(text, extract(body, url)) for url, body, text in labelled_pages(folder)]
    precisions, recalls = zip(*results, strict=True)
    low = sum(recall < LOW_RECALL for recall in recalls)
    return Quality(sum(precisions) / len(results), sum(recalls) / len(results), low)


def reference_pages() -> list[Path]:
    """Pages of the library reference, evenly by name."""
    folder = unpacked("python3.11-doc") / "usr/share/doc/python3.11/html/library"
    names = sorted(folder.glob("*.html"))
    return [names[number * len(names) // REFERENCE_PAGES] for number in range(REFERENCE_PAGES)]


def incomplete_reference_pages(extract: Extract) -> list[str]:
    """The pages with less than 30 % of the words of their main part."""
    found = []
    for path in reference_pages():
        body = path.read_bytes()
        tree, _, _ = page_tree(body, _HTML)
        main = tree.select_one("[role=main]")
        assert main is not None, path.name
        if len(extract(body, path.as_uri()).split()) < 0.3 * len(main.to_text().split()):
            found.append(path.name)
    return found


def milliseconds(extract: Extract, folder: Path) -> float:
    """CPU time per page."""
    pages = list(labelled_pages(folder))
    started = time.process_time()
    for url, body, _ in pages:
        extract(body, url)
    return (time.process_time() - started) / len(pages) * 1_000


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    heading = (
        "extractor     ",
        "     F1",
        "  precision",
        "  recall",
        "   low recall",
        "  reference",
        "     ms",
        "  ratio",
    )
    print("".join(heading))
    base = 0.0
    for name, extract in EXTRACTORS.items():
        found, cost = quality(extract, LABELLED), milliseconds(extract, LABELLED)
        base = base or cost
        incomplete = len(incomplete_reference_pages(extract))
        print(
            f"{name:<14}{found.f1:>8.3f}{found.precision:>11.3f}{found.recall:>8.3f}"
            f"{found.low:>8} of 181{incomplete:>5} of {REFERENCE_PAGES}{cost:>8.2f}{cost / base:>8.1f}"
        )


if __name__ == "__main__":
    main()
