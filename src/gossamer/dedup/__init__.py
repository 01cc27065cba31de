"""The content-seen test: is this document one that we hold under another URL, or almost one?

In comes a body; its digest (`digest`) is its identity. Two tiers answer (`exact`): an exact, bounded memory of
digests and the document each first came as, and a Bloom filter over all digests (`gossamer.sketch`). Out goes
*known* (with its owner), *surely new*, or *ask the store*.

What always holds: only the exact memory or the store may call a document known, so an error of the filter costs
a question and never a document; everything here is a cache of the store and may be dropped at any instant.

A page that is new to the byte is compared once more by the signature of its text (`near`): the latest originals are
kept in memory, and those that differ from it in little are found by their bands, never by going through them all. A
host that answers for pages that it does not have is found out by the same means (`soft`).
"""
