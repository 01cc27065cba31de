"""The content-seen test: is this document one that we hold under another URL?

In comes a body; its digest (`digest`) is its identity. Two tiers answer (`exact`): an exact, bounded memory of
digests and the document each first came as, and a Bloom filter over all digests (`gossamer.sketch`). Out goes
*known* (with its owner), *surely new*, or *ask the store*.

What always holds: only the exact memory or the store may call a document known, so an error of the filter costs
a question and never a document; everything here is a cache of the store and may be dropped at any instant.
"""
