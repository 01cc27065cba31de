"""Everything about one URL: what is known about it, what was decided and by which rule, and what it is waiting for.

A text goes in, as a person wrote it. `verdicts` brings it into canonical form, says what that changed, and asks the
filter and robots.txt for their verdicts; a reader looks up what is on record under that identity. `build` combines both
with the rules of the crawl: `schedule` computes the priority and its parts, and says what keeps the URL from being
visited now and why the next visit is planned when it is. The result is a `Story`, which `render` writes as lines
for people or as a JSON object.

Nothing here waits, reads a clock or changes anything. Every decision is made by the code that makes it in a crawl, so
an explanation cannot disagree with a crawl of the same configuration. For a URL that was never seen, it says what would
happen to it.
"""
