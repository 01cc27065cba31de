"""Whose objects these are: the object `crawl.id` below the prefix has the id of the crawl. Another crawl there would
take ours for orphans, and a mistyped prefix would make all of them missing."""

from gossamer.backends.objects.storage import ObjectMissing, ObjectStorage
from gossamer.errors import NotThisCrawl

OWNER = "crawl.id"


def settle_owner(storage: ObjectStorage, crawl_id: str) -> None:
    """Note whose objects these are, if that is not noted yet. Raises NotThisCrawl if they are another crawl's, and
    ArchiveError or StoreFailed if that cannot be determined."""
    if storage.size(OWNER) is None:
        storage.create(OWNER, crawl_id.encode())  # another crawl may do the same at this moment
    check_owner(storage, crawl_id)


def check_owner(storage: ObjectStorage, crawl_id: str) -> None:
    """Raises NotThisCrawl unless these are the objects of this crawl, and ArchiveError if that cannot be said."""
    try:
        owner = storage.get(OWNER).decode("utf-8", "replace")
    except ObjectMissing as error:
        raise NotThisCrawl(f"{storage.url} has no objects of a crawl; name the right place with --blobs") from error
    if owner != crawl_id:
        raise NotThisCrawl(
            f"{storage.url} has the objects of another crawl ({owner[:40]}); choose another prefix with --blobs"
        )
