"""`gossamer explain`: everything that is known about a URL."""

import argparse
import sys

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import add_options, config_from
from gossamer.cli.open_crawl import location_from, remembered_by_crawl, require_crawl, with_delays_in_force
from gossamer.config.policies import PolicyCache, check_config
from gossamer.crawl.run.opener import open_crawl
from gossamer.crawl.run.workers import is_running
from gossamer.errors import UsageError
from gossamer.observe.formatter import json_line
from gossamer.reports.explain.render import story_lines, story_object
from gossamer.reports.explain.story import Story
from gossamer.reports.queries import explain_url

USAGE = "URL [--dir DIR] [--json] [options]"
DESCRIPTION = """\
Explain a URL: how it was found, its canonical form, which rules apply to it,
what it is waiting for, the results of its visits and where it is stored. For a
URL never seen: what would happen to it. The crawl may be running. The rules
are those of the crawl, of gossamer.toml and of the options."""
EXAMPLE = """\
  gossamer explain https://example.org/news/ --dir news
  gossamer explain example.org/old --json | jq .next"""

_RULES = (
    *(
        "dir",
        "store",
        "blobs",
        "scope",
        "max_depth",
        "order",
        "delay",
        "delay_factor",
        "user_agent",
        "filter.exclude_domains",
    ),
    "politeness.max_per_domain",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="https:// is added if it has no scheme")
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: gossamer.toml if present)")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    add_options(parser, _RULES)


def run(arguments: argparse.Namespace) -> int:
    file = given.path(arguments, "config")
    config = config_from(arguments, file, remembered_by_crawl(arguments, file))
    check_config(config)
    text = (given.text(arguments, "url") or "").strip()
    if not text:
        raise UsageError("there is no URL to explain: the text is empty")
    location = location_from(config)
    require_crawl(location)
    with open_crawl(location) as crawl:
        running = is_running(location)
        config = with_delays_in_force(config, crawl, arguments, file)
        story = explain_url(crawl.reader.urls, crawl.records, PolicyCache(config), text, running=running)
    return _show(story, given.flag(arguments, "json"))


def _show(story: Story, as_json: bool) -> int:
    if as_json:
        print(json_line(story_object(story)))
    else:
        sys.stdout.write("\n".join(story_lines(story)) + "\n")
    return 0
