"""Scrapy: the spider of its tutorial, with the settings that its pages on broad crawls and on jobs recommend."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from hashlib import sha1
from pathlib import Path
from urllib.parse import urldefrag

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

WISHES = json.loads(Path(sys.argv[1]).read_text())
PLACE = Path(WISHES["place"])
PAGES = PLACE / "pages"


class PagesSpider(scrapy.Spider):
    name = "pages"
    allowed_domains = ("test",)
    links = LinkExtractor()

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for seed in WISHES["seeds"]:
            yield scrapy.Request(seed)  # `start_urls` would fetch a seed again that is linked to

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        (PAGES / sha1(urldefrag(response.url).url.encode()).hexdigest()).write_bytes(response.body)
        if isinstance(response, HtmlResponse):
            yield from response.follow_all(self.links.extract_links(response))


PAGES.mkdir(parents=True, exist_ok=True)
process = CrawlerProcess(
    {
        "ROBOTSTXT_OBEY": True,
        "USER_AGENT": WISHES["user_agent"],
        "DOWNLOAD_DELAY": WISHES["delay"],
        "RANDOMIZE_DOWNLOAD_DELAY": False,  # else every other gap would be shorter than asked for
        "CONCURRENT_REQUESTS": WISHES["concurrency"],
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "DOWNLOAD_TIMEOUT": WISHES["timeout"],
        "RETRY_TIMES": WISHES["retries"],
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        **({"JOBDIR": str(PLACE / "job")} if WISHES["resume"] else {}),
    }
)
process.crawl(PagesSpider)
process.start()
