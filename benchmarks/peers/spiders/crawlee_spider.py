"""Crawlee for Python: its Parsel crawler, with the request manager that its page on throttling recommends."""

import asyncio
import json
import sys
from datetime import timedelta
from functools import partial
from hashlib import sha1
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

from crawlee import ConcurrencySettings, service_locator
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import HttpxHttpClient, ImpitHttpClient
from crawlee.request_loaders import ThrottlingRequestManager
from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient
from crawlee.storages import KeyValueStore, RequestQueue

WISHES = json.loads(Path(sys.argv[1]).read_text())


async def main() -> None:
    service_locator.set_configuration(Configuration(storage_dir=WISHES["place"], purge_on_start=not WISHES["resume"]))
    # The queue is on disk only where the crawl must survive a kill: in memory it is faster.
    queues = FileSystemStorageClient() if WISHES["resume"] else MemoryStorageClient()
    service_locator.set_storage_client(queues)
    pages = await KeyValueStore.open(storage_client=FileSystemStorageClient())
    queue = await RequestQueue.open()
    hosts = [urlsplit(seed).hostname for seed in WISHES["seeds"]]
    manager = ThrottlingRequestManager(queue, domains=hosts, request_manager_opener=RequestQueue.open)
    for seed in WISHES["seeds"]:
        if WISHES["delay"]:
            manager.set_crawl_delay(seed, WISHES["delay"])
    # Its usual client is the faster one, but waits for ever for a robots.txt that does not come.
    client = HttpxHttpClient if WISHES["delay"] else partial(ImpitHttpClient, browser=None)
    crawler = ParselCrawler(
        request_manager=manager if WISHES["delay"] else queue,
        http_client=client(timeout=WISHES["timeout"], headers={"User-Agent": WISHES["user_agent"]}),
        respect_robots_txt_file=True,
        concurrency_settings=ConcurrencySettings(
            # No fewer either: it would take the load of others on this machine for its own.
            min_concurrency=WISHES["concurrency"],
            max_concurrency=WISHES["concurrency"],
            desired_concurrency=WISHES["concurrency"],
        ),
        max_request_retries=WISHES["retries"],
        navigation_timeout=timedelta(seconds=WISHES["timeout"]),
        use_session_pool=False,
        retry_on_blocked=False,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        url = urldefrag(context.request.loaded_url or context.request.url).url
        body = await context.http_response.read()
        await pages.set_value(sha1(url.encode()).hexdigest(), body, content_type="text/html")
        await context.enqueue_links(strategy="all")

    await crawler.run(WISHES["seeds"])


asyncio.run(main())
