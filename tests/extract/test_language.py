"""Language tags as pages write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.page_meta import header_language, language_tag
from tests.table import table


@pytest.mark.parametrize(
    ("written", "tag"),
    [
        ("en", "en"),
        (" EN_us ", "en-US"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("sr-LATN", "sr-Latn"),
        ("de-1996", "de-1996"),
        ("es-419", "es-419"),
        ("en-a-bb-x-cc", "en-a-bb-x-cc"),
        ("yue", "yue"),
    ],
)
def test_a_tag_is_written_in_the_customary_case(written: str, tag: str) -> None:
    assert language_tag(written) == tag


@table("written", [None, "", " ", "e", "en-", "-en", "en us", "en;q=1", "ｅｎ", "e" * 9, "en-" + "a" * 40])
def test_what_is_no_tag_is_none(written: str | None) -> None:
    assert language_tag(written) is None


@pytest.mark.parametrize(("header", "tag"), [("de-at", "de-AT"), ("de, en", None), (None, None), ("", None)])
def test_a_header_with_several_languages_tells_none(header: str | None, tag: str | None) -> None:
    assert header_language(header) == tag


@given(st.text(max_size=50))
def test_a_tag_stays_as_it_is(written: str) -> None:
    tag = language_tag(written)

    assert tag is None or language_tag(tag) == tag
