"""Implementations of the storage ports: SQLite, WARC, contact journal, memory."""
