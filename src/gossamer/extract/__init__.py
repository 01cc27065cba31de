"""Extraction: from the bytes of a document to what the crawl needs from it.

Input is a decoded body (without content codings) and a few of its headers; `content_types.is_html` decides whether it
is a page. `charset` determines its encoding, and `tree` parses it, without inert elements. There are two readers.
`crawl_page.extract_page` is for the crawl: links, base, title, robots directives (`page_meta`), canonical address and
language. Its result is a `PageContent`. `full_page.read_page` is for exports and users of the library: every link with
its kind and text, description, other languages and main text, as requested. Its result is a `Page`. Both find the same
links. Pages that could block the event loop are parsed in another process (`large_pages`, `page_worker`). Sitemaps and
feeds are in `sitemaps`, content sniffing in `mime`.

Invariants: no input makes it raise; the time is linear in the size of the body; links are returned as they were
written, and the filter resolves and checks them. The tree never leaves this package and is dropped before the caller
waits for anything: trees are about ten times as large as their pages.
"""
