"""The whole story of a URL: what is known of it, what was decided and by which rule, what it waits for.

Text comes in, as a person wrote it. `form` brings it into canonical form and says what that changed; whoever keeps
the crawl's store looks up what is on record under that identity (`facts`). `tell` puts both beside the crawl's rules:
`verdicts` asks the filter and robots.txt again, `standing` asks the ordering for its priority and the parts of it,
`waiting` says what keeps the URL from being visited now and when that ends. A `story` goes out, which `words` puts into
lines for people or a JSON object.

What always holds: nothing here waits, reads a clock or changes anything; every decision is asked of the stage that
makes it in a crawl, so a story cannot disagree with the crawl that runs under the same configuration; and the stages
know nothing of it. For a URL that was never seen the story is what would happen to it.
"""
