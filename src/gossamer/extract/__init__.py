"""From the bytes of a document to what the crawl needs of it.

In comes a decoded body (content codings already off) with a few of its headers; `kinds.is_html` says whether it is a
page at all. `charset` decides how the bytes are to be read, and `tree` makes one tree of them, without what is inert.
Then there are two readers. `links.extract_page` is for the crawl: links, base, title, the page's wishes (`robots`,
`refresh`), its canonical address and language. Out goes a `PageContent`. `page.read_page` is for exports and users of
the library: every link with its kind and text (`anchors`, `srcset`), description, other languages, main text (`text`),
as far as asked for. Out goes a `Page`. Both find the same links. Pages that could stall the event loop are read in
another process (`elsewhere`, `worker`). Sitemaps and feeds are in `sitemaps`.

What always holds: no bytes make it raise; the time is linear in the size of the body; links come out as they were
written, and resolving and judging them is the filter's business. The tree never leaves this package, and
is dropped before the caller goes on: trees are some ten times as large as their pages.
"""
