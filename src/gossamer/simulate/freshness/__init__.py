"""Recrawl policies compared without fetching: pages that change are visited under a virtual clock.

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
