"""The labelled set of near-identical articles: recall and precision of the whole test, signatures and index."""

from gossamer.dedup import NearDuplicates, NearMode
from gossamer.sketch import signature
from tests.conformance import shared_data


def articles() -> dict[str, str]:
    lines = shared_data("conformance/neardup/articles_1000.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def labelled() -> set[frozenset[str]]:
    lines = shared_data("conformance/neardup/articles_1000.truth.txt").read_text(encoding="utf-8").splitlines()
    return {frozenset(line.split()) for line in lines if line.strip()}


def test_the_labelled_pairs_of_articles_are_found_and_no_others() -> None:
    texts = articles()
    names = list(texts)
    near = NearDuplicates(NearMode.MARK)
    found: set[frozenset[str]] = set()
    for number, name in enumerate(names):
        signed = signature(texts[name])
        assert signed is not None
        original = near.judge(number, signed)
        if original is not None:
            found.add(frozenset((name, names[original.owner])))
    truth = labelled()

    assert len(truth) == 10
    assert len(found & truth) / len(truth) >= 0.95
    assert len(found & truth) / len(found) >= 0.95
