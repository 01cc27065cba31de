"""The loops in C give what their twins in Python give, for every text; and nobody needs them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.backends.warc.record import base32_in_python
from gossamer.filter.links import resolve_plain_in_python, without_fragments_in_python
from gossamer.native import Kernels, kernels
from gossamer.sketch import MAX_CHARACTERS, MIN_BINS, signature_in_python
from tests.examples import examples

ROOT = Path(__file__).resolve().parents[2]
BASES = (
    ("http://h.test/a/b/c?q=1", "http://h.test", "http://h.test/a/b/c", "http://h.test/a/b/"),
    ("http://h.test/", "http://h.test", "http://h.test/", "http://h.test/"),
    ("https://h.test:8443/x//y/", "https://h.test:8443", "https://h.test:8443/x//y/", "https://h.test:8443/x//y/"),
)
PIECES = [
    "",
    "/",
    "//",
    ".",
    "..",
    "../",
    "./",
    "a",
    "b.html",
    "?",
    "q=1",
    ";s",
    "(",
    ":",
    "%41",
    "#",
    " ",
    "\t",
    "é",
    "日",
]
PIECES += [
    "http://h.test",
    "http://h.test/",
    "https://h.test:8443/",
    "http://other.test/",
    "https://other.test:81",
    "http://",
    "https://other.test:",
    "http://refused.test",
    "http://OTHER.test/",
    "mailto:x@y",
    "/.",
    "\x00",
    "\ud800",
]
SITES: dict[str, tuple[str, str] | str] = {
    "http://h.test": ("http://h.test", "h.test"),
    "http://other.test": ("http://other.test", "other.test"),
    "https://other.test:81": ("https://other.test:81", "other.test"),
    "http://refused.test": "bad_url",
}
references = st.lists(st.lists(st.sampled_from(PIECES), max_size=7).map("".join) | st.text(max_size=20), max_size=40)


@pytest.fixture(scope="module")
def compiled() -> Kernels:
    """Where there is a compiler, as on every machine that runs these tests, installing has built them."""
    if kernels is None and shutil.which("cc") is None:
        pytest.skip("no C compiler here: nothing was built")
    assert kernels is not None, "there is a C compiler, but `make env` built nothing"
    return kernels


def signed(compiled: Kernels, text: str) -> bytes | None:
    return compiled.signature(text, MAX_CHARACTERS, MIN_BINS)


def expected(text: str) -> bytes | None:
    return signature_in_python(text, MAX_CHARACTERS, MIN_BINS)


@examples(60)
@given(st.text(max_size=2000))
@example("")
@example("word " * 40)
@example(" ".join(f"w{i}" for i in range(500)))
@example("日本語の文章は空白なしで書かれる。" * 30)
@example("\U0001f600 " * 50 + "\ud800 end" * 30)
def test_signatures_are_the_same(compiled: Kernels, text: str) -> None:
    assert signed(compiled, text) == expected(text)


@examples(25)
@given(st.lists(st.text("abcdefgh éßжю語\u2009\u0b01\n\t", min_size=1, max_size=9), min_size=20, max_size=400))
def test_signatures_of_many_words_are_the_same(compiled: Kernels, words: list[str]) -> None:
    text = " ".join(words)

    assert signed(compiled, text) == expected(text)


@pytest.mark.parametrize(("most", "least"), [(-1, 1), (1 << 28, 1), (10, 0)])
def test_a_text_cannot_be_signed_in_part_without_sense(compiled: Kernels, most: int, least: int) -> None:
    with pytest.raises(ValueError, match="characters"):
        compiled.signature("text", most, least)


def test_only_the_beginning_of_a_very_long_text_is_signed(compiled: Kernels) -> None:
    beginning = " ".join(f"word{i}" for i in range(40_000))[:MAX_CHARACTERS]

    assert signed(compiled, beginning + "語" * 10_000) == signed(compiled, beginning) == expected(beginning)


@given(st.binary(min_size=20, max_size=20))
def test_digests_are_written_the_same(compiled: Kernels, digest: bytes) -> None:
    assert compiled.base32(digest) == base32_in_python(digest)


@pytest.mark.parametrize("wrong", [b"", b"x" * 19, b"x" * 21])
def test_what_is_no_digest_is_refused(compiled: Kernels, wrong: bytes) -> None:
    with pytest.raises(ValueError, match="20 bytes"):
        compiled.base32(wrong)


@examples(100)
@given(references)
def test_fragments_are_cut_the_same(compiled: Kernels, hrefs: list[str]) -> None:
    found = compiled.without_fragments(hrefs)

    assert list(found) == list(without_fragments_in_python(hrefs))


@examples(200)
@given(st.sampled_from(BASES), references, st.booleans(), st.sampled_from([2_048, 8]))
def test_plain_references_are_joined_the_same_and_the_others_are_handed_over_in_order(
    compiled: Kernels, base: tuple[str, str, str, str], refs: list[str], noise: bool, most: int
) -> None:
    told = []
    for resolve in (compiled.resolve_plain, resolve_plain_in_python):
        links: dict[str, str] = {}

        def otherwise(ref: str, links: dict[str, str] = links) -> None:
            links[f"otherwise {len(links)} {ref!r}"] = ref

        resolve(refs, *base, "h.test", SITES, links, most, noise, otherwise)
        told.append(list(links.items()))

    assert told[0] == told[1]


def test_an_error_in_the_careful_way_comes_out(compiled: Kernels) -> None:
    def otherwise(ref: str) -> None:
        raise RuntimeError(ref)

    with pytest.raises(RuntimeError, match="mailto"):
        compiled.resolve_plain(["a", "mailto:x", "b"], *BASES[0], "h.test", {}, {}, 2_048, False, otherwise)


def test_without_them_the_same_is_done_in_python() -> None:
    check = (
        "from gossamer.native import kernels; from gossamer.sketch import signature\n"
        "from gossamer.filter.links import resolve_plain; from gossamer.backends.warc.record import base32\n"
        "print(kernels, signature(' '.join(f'word{i}' for i in range(300))).hex(), base32(bytes(20)))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", check],
            env=os.environ | {"GOSSAMER_NATIVE": switch, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.split()
        for switch in ("0", "1")
    ]

    assert told[0][0] == "None"
    assert told[0][1:] == told[1][-2:]
