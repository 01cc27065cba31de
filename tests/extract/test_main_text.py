"""The main text of pages: which part it is, how much of it is found, and as Markdown."""

import pytest

from benchmarks.bench_text import fast, incomplete_reference_pages, quality
from gossamer.extract.full_page import LanguageSource, Wanted, read_page
from gossamer.extract.main_text import TextExtractor, TextSource, main_text
from gossamer.extract.tree import page_tree
from tests.conformance import shared_data

PROSE = "It rained all day, and the river rose until it reached the old bridge, where people stood and watched. "
MENU = "<nav><ul>" + "<li><a href=x>somewhere else entirely</a>" * 50 + "</ul></nav>"


def text_of(html: str) -> tuple[str, TextSource]:
    body = html.encode()
    tree, _, _ = page_tree(body, "text/html; charset=utf-8")
    found = main_text(tree, len(body))
    return found.text, found.source


def test_the_text_of_labelled_pages_is_found() -> None:
    found = quality(fast, shared_data("text"))

    assert found.f1 >= 0.91
    assert found.low <= 3


def test_no_page_of_a_reference_loses_most_of_its_text() -> None:
    assert incomplete_reference_pages(fast) == []


def test_an_article_is_taken_without_its_menu() -> None:
    text, source = text_of(f"<body>{MENU}<article><h1>Flood</h1><p>{PROSE * 5}</article>{MENU}")

    assert source is TextSource.MAIN
    assert "old bridge" in text
    assert "somewhere else" not in text


def test_the_marked_part_is_taken_if_the_best_element_is_a_small_part_of_it() -> None:
    entries = "".join(f"<dt>word<dd>{PROSE * 4}" for _ in range(10))

    text, source = text_of(f"<body>{MENU}<main><div><p>{PROSE}</div><dl>{entries}</dl><form>password</form></main>")

    assert source is TextSource.GUARD
    assert text.count("old bridge") == 41
    assert "somewhere else" not in text
    assert "password" not in text


def test_a_manual_in_sections_keeps_all_of_them() -> None:
    """As AsciiDoc and similar tools make them: no element is marked as the main part, and the best is one of four."""
    sections = "".join(
        f"<div class=sect1><h2>Part {n}</h2><div class=sectionbody><p>{PROSE * length}</p></div></div>"
        for n, length in enumerate((8, 8, 9, 8))
    )
    for content in (f"<div id=content>{sections}</div>", f"<div>{sections}</div>"):
        text, source = text_of(f"<body>{MENU}<div id=header><h1>Manual</h1></div>{content}<div id=footer>made by</div>")

        assert source is TextSource.GUARD
        assert text.count("old bridge") == 33 and "somewhere else" not in text


def test_a_list_of_links_in_the_marked_part_does_not_replace_the_article() -> None:
    related = "<ul>" + "<li><a href=x>another story that is not part of this one</a>" * 200 + "</ul>"

    text, source = text_of(f"<body><main><div><p>{PROSE * 5}</p></div>{related}</main>")

    assert source is TextSource.MAIN
    assert "another story" not in text


def test_a_page_inside_a_form_keeps_its_text() -> None:
    text, _ = text_of(f"<body><form><div><p>{PROSE * 5}</p></div></form>")

    assert text.count("old bridge") == 5


@pytest.mark.parametrize("html", ["", "<frameset>", "<p>", "<main></main>", "<body><nav>only a menu</nav>"])
def test_a_page_without_text_has_none(html: str) -> None:
    text, _ = text_of(html)

    assert text.strip() in {"", "only a menu"}


def test_a_page_over_a_megabyte_is_taken_whole() -> None:
    text, source = text_of(f"<body>{MENU}<article>{PROSE}</article>" + "<i></i>" * 200_000)

    assert source is TextSource.BODY
    assert "somewhere else" in text


def test_thousands_of_nested_articles_take_time_in_proportion_to_the_page() -> None:
    text, _ = text_of("<article>" * 20_000 + PROSE)

    assert "old bridge" in text


def test_markdown_has_absolute_links_and_leaves_links_and_text_as_they_are() -> None:
    html = f"<base href=/docs/><body><main><h1>Flood</h1><p>{PROSE * 3}<a href=more.html>More</a></main>".encode()
    want = Wanted(markdown=True)

    page = read_page(html, "text/html; charset=utf-8", "http://site.test/", want=want)

    assert page.markdown is not None
    assert page.markdown.startswith("# Flood")
    assert "[More](http://site.test/docs/more.html)" in page.markdown
    assert [link.href for link in page.links] == ["more.html"]
    assert page.text == read_page(html, "text/html; charset=utf-8", "http://site.test/").text


def test_the_source_of_the_language_is_declared_or_guessed() -> None:
    german = "<p>" + "Der Regen fiel den ganzen Tag, und der Fluss stieg bis zur alten Brücke. " * 5
    want = Wanted(guess_language=True)

    def language(html: str) -> tuple[str | None, LanguageSource | None]:
        page = read_page(html.encode(), "text/html; charset=utf-8", "http://site.test/", want=want)
        return page.language, page.language_source

    assert language(german) == ("de", LanguageSource.GUESSED)
    assert language("<html lang=fr>" + german) == ("fr", LanguageSource.DECLARED)
    assert language("<p>hm") == (None, None)


def test_trafilatura_is_used_if_it_is_chosen() -> None:
    html = f"<html><body>{MENU}<article><h1>Flood</h1>{f'<p>{PROSE}</p>' * 8}</article></body></html>".encode()
    want = Wanted(markdown=True, extractor=TextExtractor.TRAFILATURA)

    page = read_page(html, "text/html; charset=utf-8", "http://site.test/", want=want)

    assert page.text_source is TextSource.TRAFILATURA
    assert "old bridge" in (page.text or "")
    assert "old bridge" in (page.markdown or "")
    assert "somewhere else" not in (page.text or "")
