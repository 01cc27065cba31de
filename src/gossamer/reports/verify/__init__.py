"""Compares the store of a crawl with its archive, and the tables of the store with each other.

Problems are sorted into kinds (`problems`). Every file is read from end to end together with its rows (`files`): every
row must have its record, with the right URL and digests, and every record its row. What can be repaired safely is
repaired (`repair`), in one transaction, by a process that holds the lock of the directory.

Without `--repair` nothing is changed, and the crawl may be running: only what was committed when `verify` started is
checked. With it, no committed byte of a WARC file that can still be read is cut or overwritten.
"""
