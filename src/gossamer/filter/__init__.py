"""May this URL enter the crawl at all?

What comes in is text: the `href`s of a page, a seed, the target of a redirect. It passes through:

1. `canonical` — the text becomes the one spelling we use for that URL, or is refused with a reason
   (`bad_url`, `bad_scheme`, `blocked_port`, `url_too_long`). `authority` reads the part before the path, `percent`
   folds the escapes, `query_rules` drops what the configuration calls noise, `legacy_query` serves pages that are not
   UTF-8.
2. `links` — the same for all links of a page in one tight loop.
3. `rules` — is it in scope, near enough, short enough, of a wanted kind? `scope`, `patterns` and
   `domains` hold the parts of that decision.

4. `identity` — is it the same as another? Which parameters choose no document is told by lists, and learnt on each host
   (`learning`).
5. `traps` — does it repeat itself? And once pages have come: has its shape (`shapes`) brought anything new, or is it a
   trap (`traps_budget`, `traps_hosts`)? These are asked when its turn comes.

What goes out is a `Url` with its `HostKey`, or the word for why it stays out.

What always holds: a canonical URL is its own canonical form; two spellings that the WHATWG standard calls
equal never give two URLs; userinfo and fragments never come out; nothing here waits, reads a clock or
raises because of what the web wrote. Why the form is what it is: ADR 2.
"""
