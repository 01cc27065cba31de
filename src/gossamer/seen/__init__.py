"""The URL-seen test: has this URL entered the crawl before?

In come the fingerprints of a page's links (`fingerprint`). Three tiers are asked in turn, the cheapest first:

1. `recent`, an exact memory of the latest fingerprints. Its "yes" is true, its "no" means nothing.
2. a Bloom filter over all fingerprints (`gossamer.sketch`). Its "no" is true, its "yes" means nothing.
3. the store, which knows; it is asked by inserting the URL unless it is there.

Out goes, for each link, *seen*, *new* or *ask* (`tiers`). What always holds: **only the exact memory or the store
may say "seen"**, so an error of the Bloom filter costs a question to the store and never a URL; and everything here
is a cache of the store, which may be dropped at any instant and is warmed again from it.
"""
