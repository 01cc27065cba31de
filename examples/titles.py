"""Print the address and the first heading of 50 pages of a site."""

from gossamer import crawl_pages

for page in crawl_pages("https://example.org/", max_pages=50):
    print(page.url, page.css("h1::text").get(default="-"))
