"""A crawl that leaves nothing on disk: `--store memory:`, for tests.

The contact journal and the archive are Python objects. The tables are an SQLite database in memory behind the same
statements as the one on disk (ADR 24): `tables` keeps it alive, and each connection to it is a `Database`.

All of it belongs to the process and is gone with `MemoryTables.close`.
"""

from gossamer.backends.memory.captures import MemoryCaptures
from gossamer.backends.memory.contact_journal import MemoryContactJournal
from gossamer.backends.memory.tables import MemoryTables

__all__ = ["MemoryCaptures", "MemoryContactJournal", "MemoryTables"]
