"""The content-seen test: do we already hold this document under another URL, or almost?

Input: a body; its digest is its identity. Two tiers answer (`exact`): an exact, bounded cache of digests with the
document each first came as, and a Bloom filter over all digests (`gossamer.sketch`). Output: *known* (with its
owner), *surely new*, or *ask the store*.

Invariants: only the exact cache or the store may call a document known, so an error of the filter costs a query and
never a document; everything here is a cache of the store and may be dropped at any time.

A page with new bytes is also compared by the signature of its text (`near`): the latest originals are kept in memory,
and those that differ little from it are found by their bands, without scanning all of them. Hosts that answer 200 for
missing pages are detected the same way (`soft404`).
"""
