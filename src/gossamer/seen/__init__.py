"""The URL-seen test: has this URL entered the crawl before?

Input: the fingerprints of a page's links. Three tiers are consulted in turn, the cheapest first (`url_seen`):

1. `Recent`, an exact cache of the latest fingerprints. Its "yes" is certain, its "no" means nothing.

2. A Bloom filter over all fingerprints (`gossamer.sketch.bloom`). Its "no" is certain, its "yes" means nothing.

3. The store, which knows: the URL is inserted unless it is there.

Output: for each link, *seen*, *new* or *unsure*. Invariants: **only the exact cache or the store may say "seen"**, so
an error of the Bloom filter costs a query of the store and never a URL; everything here is a cache of the store, which
may be dropped at any time and is filled from it again.
"""
