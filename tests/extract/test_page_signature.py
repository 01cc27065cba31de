"""The signature of a page: of its own text, whatever stands around it."""

import random

from gossamer.extract.crawl_page import extract_page
from gossamer.sketch import signature


def words(seed: int, count: int) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(count))


def signed(body: str) -> bytes | None:
    return extract_page(body.encode(), "text/html; charset=utf-8", "http://x.test/", sign=True).signature


def test_what_stands_around_the_text_is_not_signed() -> None:
    text = words(1, 100)
    around = (
        f"<title>{words(2, 9)}</title><style>{words(3, 40)}</style>"
        f"<header>{words(4, 40)}<nav>{words(5, 40)}</nav></header>"
        f"{text}<aside>{words(6, 40)}<aside>{words(7, 40)}</aside></aside><script>{words(8, 40)}</script>"
        f"<footer>{words(9, 40)}</footer><noscript>{words(10, 40)}</noscript>"
    )

    assert signed(around) == signature(text) is not None


def test_links_in_what_is_not_signed_are_still_found() -> None:
    page = extract_page(
        b"<nav><a href=/a>a</a></nav><p>text<aside><a href=/b>b</a></aside>", None, "http://x/", sign=True
    )

    assert page.hrefs == ["/a", "/b"]


def test_a_page_is_signed_only_if_asked() -> None:
    body = words(1, 100).encode()

    assert extract_page(body, "text/html", "http://x.test/").signature is None
    assert extract_page(body, "text/html", "http://x.test/", sign=True).signature is not None


def test_a_hundred_thousand_nested_frames_cost_no_more_than_their_size() -> None:
    assert signed("<nav>" * 50_000 + "<footer>" * 50_000 + words(1, 100)) is None
