"""The names of Markdown files, and the folder that has them."""

from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.model.units import Instant
from gossamer.reports.export.formats import file_name, open_folder


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a.test/", "a.test/index.md"),
        ("https://a.test/docs/", "a.test/docs/index.md"),
        ("https://a.test/docs/page.html", "a.test/docs/page.html.md"),
        ("https://a.test/docs", "a.test/docs.md"),
    ],
)
def test_a_plain_path_is_the_name_of_its_file(url: str, name: str) -> None:
    assert file_name(url) == name


HARD = [
    "http://a.test:8080/",
    "http://a.test/index",
    "http://a.test/?q=1",
    "http://a.test/?q=2",
    "http://a.test/a:b",
    "http://a.test/a*b",
    "http://a.test//",
    "http://a.test/../../etc/passwd",
    "http://a.test/%2e%2e/x",
    "http://a.test/" + "long" * 100,
    "http://a.test/" + "long" * 101,
    "http://a.test/" + "deep/" * 300,
    "http://a.test/" + "deep/" * 301,
    "http://a.test/ünï",
]


def test_every_other_url_gets_a_name_of_its_own_below_the_folder(tmp_path: Path) -> None:
    names = [file_name(url) for url in HARD]

    assert len(set(names)) == len(HARD)
    for name in names:
        path = (tmp_path / name).resolve()
        assert path.is_relative_to(tmp_path / "a.test") or name.startswith("a.test_8080/")
        assert max(map(len, path.parts)) < 200
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_the_second_page_of_the_same_path_has_a_digest_in_its_name(tmp_path: Path) -> None:
    with open_folder(str(tmp_path / "out")) as folder:
        for url in ("http://a.test/x", "https://a.test/x"):
            folder.add(url, f"from {url}", title='a "title"', fetched_at=Instant(0.0), language=None, digest=None)

    texts = [
        path.read_text() for path in sorted((tmp_path / "out" / "a.test").iterdir(), key=lambda path: len(path.name))
    ]
    assert [text.rpartition("from ")[2].strip() for text in texts] == ["http://a.test/x", "https://a.test/x"]
    assert 'title: "a \\"title\\""\n' in texts[0]


def test_a_folder_that_fails_leaves_nothing_and_one_with_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), open_folder(str(tmp_path / "out")):
        raise RuntimeError
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()

    assert [path.name for path in tmp_path.iterdir()] == ["full"]
    for name in ("full", "full/file"):
        with pytest.raises(UsageError, match=r"give a new directory"), open_folder(str(tmp_path / name)):
            pass
