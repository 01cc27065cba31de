"""From the bytes of a page to what the crawl needs of it.

In comes a decoded body (content codings already off) with two of its headers; `kinds.is_html` says whether it is
a page at all. `charset` decides how the bytes are to be read, one parse makes a tree, and one walk over it
collects the links, the base, the title and the page's wishes (`robots`, `refresh`). Out goes a `PageContent`.

What always holds: no bytes make it raise; the time is linear in the size of the body; links come out as they were
written, and resolving and judging them is the filter's business. The tree never leaves this package, and
is dropped before the caller goes on: trees are some ten times as large as their pages.
"""
