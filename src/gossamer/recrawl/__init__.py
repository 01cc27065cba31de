"""Decides when pages are visited again, so that the copies are as fresh as the budget allows.

Input: what a visit showed (`policy.Visited`). Output: a plan (`policy.Plan`): when to visit next, what to remember, and
why. The modules:

    estimate      how often does a page change? did it change, or only clocks, tokens and advertisements? priors by host
    change_hints  Last-Modified, sitemaps and feeds, and whether those of a host can be trusted
    price         the value of a visit, and its price: by the budget, and higher for hosts that allow too few visits
    budget        the refresh budget as a token bucket; rates of visits
    rules         the user's rules for hosts, patterns, types and states: gaps and limits
    policy        what a policy is; `policies` has ours, by name. `optimal` joins all of the above
    planner       plans the next visit after each visit
    due           per-host backlog of requeued URLs; postpones or advances due URLs, inside the commit
    freshness     estimated freshness of the copies

Invariants:
  * no IO, no clock, no randomness: a plan is a function of a page's row, the visit and the current terms, so a
    restart changes nothing;
  * estimates are finite and positive whatever is observed; a gap lies between the shortest and the longest allowed;
  * more time without a change never raises an estimated rate, and a higher price never shortens a gap.

`gossamer simulate --recrawl` runs the same policies under a virtual clock (docs/RECRAWL.md).
"""
