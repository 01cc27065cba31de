"""Crawl a site into a directory, then list its broken links with the pages on which they were found."""

import gossamer

crawl = gossamer.Crawl("https://example.org/", dir="example", max_pages=500)
print(gossamer.run(crawl))

with gossamer.open("example") as stored:
    for url in stored.urls(state="missing"):
        print(url["status"], url["url"], "linked from", url["found_on"])
