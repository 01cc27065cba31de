"""Simulators: orderings and recrawl policies compared without fetching.

**Orderings.** A link graph is replayed as if it were crawled. The graph is read from a file, computed from the
simulated web, or made from the links that a crawl has stored.

    graph             link graphs, where they come from, and their PageRank: the value of each page
    policies          the crawl's own orderings and others by name: they observe links and choose the next page
    knowledge         what a crawl would know of each page and site so far
    best_first        the queue of most policies: exact although scores change while pages wait
    replay            seeds, one fetch per slot, resting sites; the share of all PageRank in the first pages
    plot              the shares as curves, in SVG

Invariants:
  * a policy never sees the graph, only what a crawl would see (except `omniscient`, which is an upper bound);
  * the same graph and plan give the same numbers on every machine: scores are whole numbers, randomness is seeded;
  * every reachable page is fetched once, and a resting site is not contacted.

**Recrawl policies.** Pages that change are visited under a virtual clock, by the crawl's own policies
(`gossamer.recrawl`) and within a budget of visits.

    recrawl_world     pages: when they change, how important they are, on which host; drawn, recorded or simulated
    time_travel       time passes, visits take place, the policy chooses the next one; the price follows the budget
    recrawl_compare   each policy in the same worlds: how fresh were the copies, and how fresh could they have been?

Invariants:
  * a policy sees of a page what a crawl would see, and nothing else (except `known-rates`, which is an upper bound);
  * freshness is exact: the time from each visit to the next change, not a sample;
  * no more visits are made than the budget allows, none to a resting host, and the same world gives the same numbers.
"""
