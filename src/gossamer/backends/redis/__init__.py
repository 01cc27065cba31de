"""Redis as a cache that may disappear at any time, and as the carrier of the document stream (ADR 29).

In reading order: `address` (URLs and passwords), `connection` (one connection to the server that is in use), `tier`
(`CacheTier`, which decides whether Redis is used at all), and what is kept there: `known` (owners of documents, links
that were sent) and `document_log` (announcements of documents). `document_reader` reads the announcements in another
program. hiredis packs commands and parses replies; the reader uses redis-py.
"""
