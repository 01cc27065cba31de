"""URLs of object storage, and where credentials come from."""

from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore import exceptions

from gossamer.backends.objects.address import check_url, credentials_in
from gossamer.backends.objects.owner import check_owner, settle_owner
from gossamer.backends.objects.storage import AccessRefused, ObjectMissing, ObjectStorage
from gossamer.errors import ArchiveAway, ConfigError, NotThisCrawl, StoreFailed
from tests.s3_keys import KEYS
from tests.s3_server import BUCKET, S3Server


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket",
        "s3://bucket/some/prefix",
        "s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-1",
        "gs://bucket/prefix",
        "az://account/container/prefix",
    ],
)
def test_urls_of_all_providers_are_accepted(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("s3:", "is not a URL of the form"),
        ("s3:///prefix", "is not a URL of the form"),
        ("ftp://bucket/prefix", "is not a URL of the form"),
        ("s3://user:secret@bucket/prefix", "credentials do not belong into the URL"),
        ("s3://bucket/prefix?secret_access_key=x", "'secret_access_key' is not a setting of s3:// URLs"),
        ("gs://bucket/prefix?endpoint=x", "'endpoint' is not a setting of gs:// URLs"),
    ],
)
def test_other_urls_are_refused_without_showing_a_secret(url: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as raised:
        check_url(url)

    assert "user:secret" not in str(raised.value)


def test_the_files_of_aws_say_what_the_environment_does_not(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = one\naws_secret_access_key = s%1\n"
        "[crawler]\naws_access_key_id = two\naws_secret_access_key = s2\naws_session_token = t\n"
    )
    (tmp_path / ".aws/config").write_text("[default]\nregion = eu-1\n[profile crawler]\nregion = eu-2\n")
    home = {"HOME": str(tmp_path)}

    assert credentials_in(home) == {"access_key_id": "one", "secret_access_key": "s%1", "region": "eu-1"}
    assert credentials_in({**home, "AWS_PROFILE": "crawler"}) == {
        "access_key_id": "two",
        "secret_access_key": "s2",
        "session_token": "t",
        "region": "eu-2",
    }
    assert credentials_in({**home, "AWS_ACCESS_KEY_ID": "three", "AWS_REGION": "us-1"}) == {}
    assert credentials_in({"HOME": str(tmp_path / "nobody")}) == {}


def test_a_prefix_belongs_to_the_first_crawl_that_names_it(s3: S3Server, tmp_path: Path) -> None:
    storage = ObjectStorage(s3.url(f"{BUCKET}/{tmp_path.name}"))
    with pytest.raises(NotThisCrawl, match="no objects of a crawl"):
        check_owner(storage, "first")

    settle_owner(storage, "first")
    settle_owner(storage, "first")

    with pytest.raises(NotThisCrawl, match="objects of another crawl"):
        settle_owner(storage, "second")


@pytest.mark.parametrize("conditional", [True, False])
def test_of_two_crawls_that_start_at_the_same_time_one_gets_the_prefix(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conditional: bool
) -> None:
    storage = ObjectStorage(s3.url(f"{BUCKET}/{tmp_path.name}-{conditional}"))
    put = obstore.put
    if not conditional:

        def unconditional(*arguments: Any, mode: str | None = None, **others: Any) -> object:
            if mode is not None:
                raise exceptions.GenericError("Server returned non-2xx status code: 501 Not Implemented")
            return put(*arguments, **others)

        monkeypatch.setattr(obstore, "put", unconditional)
    settle_owner(storage, "first")
    check_owner(storage, "first")

    if conditional:
        monkeypatch.setattr(storage, "size", lambda name: None)  # the look of the second came before the first's put
        with pytest.raises(NotThisCrawl, match="objects of another crawl"):
            settle_owner(storage, "second")
        check_owner(storage, "first")


@pytest.mark.parametrize(
    ("place", "keys", "problem"),
    [
        (BUCKET, {}, r"no credentials for s3://crawls/.*: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (BUCKET, {**KEYS, "AWS_SECRET_ACCESS_KEY": "x"}, r"^127\.0\.0\.1:\d+ refused these credentials for s3://"),
        ("nosuch", KEYS, r"bucket nosuch does not exist on 127\.0\.0\.1:\d+; create it"),
    ],
)
def test_a_storage_that_may_not_be_used_says_why(
    place: str, keys: dict[str, str], problem: str, s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    storage = ObjectStorage(s3.url(f"{place}/{tmp_path.name}"), seconds=4.0)

    with pytest.raises(AccessRefused, match=problem):
        storage.get("crawl.id")
    if place == BUCKET:  # this server creates a bucket that is missing
        with pytest.raises(AccessRefused, match=problem.partition(" for ")[0]):
            list(storage.names())
        with pytest.raises(StoreFailed, match=problem.partition(" for ")[0]):
            storage.put("crawl.id", b"1")


def test_a_storage_that_is_down_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    storage = ObjectStorage("s3://crawls/news?endpoint=http://127.0.0.1:9", seconds=4.0)

    with pytest.raises(ArchiveAway, match=r"^127\.0\.0\.1:9 does not answer \(Connection refused\)$") as raised:
        storage.size("crawl.id")
    assert not isinstance(raised.value, AccessRefused)
    with pytest.raises(StoreFailed, match=r"^127\.0\.0\.1:9 does not answer \(Connection refused\)$"):
        storage.put("crawl.id", b"1")


def test_objects_are_put_read_in_part_listed_and_deleted(s3: S3Server, tmp_path: Path) -> None:
    storage = ObjectStorage(s3.url(f"{BUCKET}/{tmp_path.name}"))
    storage.put("1/a.warc.gz", b"0123456789")

    assert storage.get_range("1/a.warc.gz", 2, 3) == b"234"
    assert storage.get_range("1/a.warc.gz", 8, 5) == b"89"
    assert storage.get_range("1/a.warc.gz", 20, 5) == b""
    assert (storage.size("1/a.warc.gz"), storage.size("1/b.warc.gz")) == (10, None)
    assert list(storage.names()) == ["1/a.warc.gz"]
    storage.delete("1/a.warc.gz")
    storage.delete("1/a.warc.gz")
    with pytest.raises(ObjectMissing, match=r"1/a\.warc\.gz: there is no such object"):
        storage.get("1/a.warc.gz")
    with pytest.raises(ObjectMissing, match=r"1/a\.warc\.gz: there is no such object"):
        storage.get_range("1/a.warc.gz", 0, 1)
