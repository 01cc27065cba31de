"""When is a page visited again? So that the copies are as fresh as the budget allows.

In comes what a visit showed (`policy.Visited`); out goes a plan (`policy.Plan`): when to come again, what to write
down, and why. On the way:

    change        did the content change, or only clocks, tokens and advertisements?
    trust         may this host's Last-Modified and sitemap dates be believed?
    estimate      how often does the page change? two numbers, corrected by every visit
    prior         what is believed of a page at first: learnt from the other pages of its host
    index         what is a visit worth, and when is it worth its price?
    price         the price, moved so that the budget is used and not exceeded
    host_price    the higher one of a host that allows fewer visits than its pages ask for
    turns         new pages and due ones compete for visits by what they are worth, with a floor for each
    rules         what the user wants for certain hosts, patterns, types and states: gaps and limits
    policy        what a policy is; `policies` has ours, by name. `optimal` joins all of the above
    optimum       the best schedule for known rates, by which policies are measured

What always holds:
  * no IO, no clock, no chance: a decision is a function of a page's row, the visit and the terms of the moment, so a
    restart changes nothing;
  * estimates are finite and positive whatever is observed; a plan lies within the shortest and the longest gap;
  * more unchanged time never raises an estimated rate, and a higher price never shortens a gap.

`gossamer simulate --recrawl` runs these very policies under a virtual clock (docs/RECRAWL.md).
"""
