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

Recrawl policies compared without fetching: pages that change are visited under a virtual clock.

What comes in: a world (`world`), drawn, read from a file of recorded change times, or the simulated web; policies,
which are the crawl's own (`gossamer.recrawl`); and a budget of visits.

    world         pages: when they change, how important they are, on which host
    served        the simulated web as such a world, and what a real crawl of it did there
    travel        time passes, visits take place, the policy says when the next one is; the price follows the budget
    compare       each policy in the same worlds: how fresh were the copies, and how fresh could they have been?
    tables        the answer as text, JSON and Markdown
    plot          freshness over time, as a drawing

What always holds:
  * a policy sees of a page what a crawl would see, and nothing of the world (but `known-rates`, which is a bound);
  * freshness is exact: the time from each visit to the next change, not a sample;
  * no more visits are made than the budget allows, none to a host that rests, and the same world gives the same
    figures.
"""
