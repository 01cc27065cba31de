"""Decides whether a URL may enter the crawl.

Input is text: the `href`s of a page, a seed, the target of a redirect. It passes through these steps:

  1. `canonical`: the text is brought into canonical form, or refused with a reason (`bad_url`, `bad_scheme`,
     `blocked_port`, `url_too_long`), without what the configuration calls noise.
  2. `links`: the same for all links of a page in one tight loop, with the queries of pages that are not UTF-8.
  3. `rules`: is the URL in scope (`scope`, `domains`), close enough to a seed, short enough, of a wanted type, and
     free of repetitions? `host_table` has the patterns and the rules of individual hosts.
  4. `identity`: is it the same as another URL? Parameters that do not change the document are listed, or learned for
     each host.
  5. `trap_budget`: once pages were fetched, has the URL's shape (`url_shape`) or its domain brought anything new, or is
     it a trap? This is checked when the URL is due.

Output is a `Url` with its `HostKey`, or the reason why it is excluded.

Invariants: a canonical URL is its own canonical form; two spellings that the WHATWG standard calls equal never give two
URLs; userinfo and fragments are always removed; nothing here waits, reads a clock or raises because of what the web
contains. ADR 2 explains the canonical form.
"""
