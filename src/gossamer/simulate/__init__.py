"""Orders compared without fetching: a link graph is replayed as if it were crawled.

What comes in: a graph (`graph`), read from a file (`reading`), computed from the simulated web (`web`), or made by the
command from the links that a crawl has stored.

    pagerank          what each page is worth, from the whole graph
    policies          the crawl's own orderings and others by name: they hear of links and answer which page is next
    best_first        the queue most of them use: exact although scores change while pages wait (`promises`: how)
    replay            seeds, one fetch a slot, resting sites; which share of all PageRank the first pages hold
    tables            the shares as text, JSON and Markdown
    plot              the shares as curves: a `drawing`, as SVG

What always holds:
  * a policy never sees the graph, only what a crawl would tell it (but `omniscient`, which is a bound);
  * the same graph and plan give the same figures on every machine: scores are whole numbers, chance is seeded;
  * every page that can be reached is fetched once, and a resting site is not contacted.
"""
