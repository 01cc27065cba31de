"""The sitemaps of the simulated web: in every form, and the only way to some pages."""

import gzip
import re

from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.hosts import Kind
from gossamer.lab.simweb.web import HIDDEN, Form, SimWeb
from gossamer.model.units import Instant

CONFIG = SimWebConfig(hosts=40, pages=400, sitemap_hosts=0.8, disallowed_rate=0.1)
WEB = SimWeb(CONFIG)
NOW = Instant(1_700_000_000.0)


def listed_by(host: str, path: str, followed: set[str]) -> set[str]:
    """Every URL that a sitemap lists, indexes followed."""
    followed.add(path)
    body = WEB.respond(host, path, NOW).body
    text = (gzip.decompress(body) if path.endswith(".gz") else body).decode()
    found = set(re.findall(r"<loc>(.*?)</loc>", text)) or set(text.split())
    if "<sitemapindex" not in text:
        return {url.replace("&amp;", "&") for url in found}
    paths = {"/" + url.split("/", 3)[3] for url in found}
    return {url for path in paths - followed for url in listed_by(host, path, followed)}


def test_without_a_share_no_host_has_a_sitemap() -> None:
    web = SimWeb(SimWebConfig(hosts=40, pages=400))

    assert not any(web.site_maps.has(host) for host in web.hosts)
    assert all(b"Sitemap" not in web.respond(host.name, "/robots.txt", NOW).body for host in web.hosts)
    assert {web.respond(host.name, "/sitemap.xml", NOW).status for host in web.hosts} == {404}


def test_hosts_keep_their_sitemaps_in_every_form_and_name_them_in_robots_txt() -> None:
    hosts = [host for host in WEB.hosts if WEB.site_maps.has(host)]

    assert {WEB.site_maps.form(host) for host in hosts} == set(Form)
    for host in hosts:
        robots = WEB.respond(host.name, "/robots.txt", NOW).body
        assert robots.endswith(f"\nSitemap: {host.base}/sitemap.xml\n".encode())


def test_a_sitemap_lists_the_hidden_pages_the_forbidden_ones_and_some_others() -> None:
    for host in WEB.hosts:
        if not WEB.site_maps.has(host):
            continue
        listed = listed_by(host.name, "/sitemap.xml", set())
        hidden = {host.base + path for path in WEB.site_maps.hidden(host)}
        assert len(hidden) == HIDDEN and hidden < listed
        assert len(listed) == HIDDEN + len(list(WEB.site_maps.numbers(host)))
        assert {WEB.respond(host.name, url.removeprefix(host.base), NOW).status for url in hidden} == {200}


def test_nothing_else_leads_to_a_hidden_page() -> None:
    pages = [
        WEB.respond(host.name, url.removeprefix(host.base), NOW).body
        for host in WEB.hosts
        for url in sorted(ground_truth(WEB).stored)
        if url.startswith(host.base + "/") and "/hidden/" not in url and "/maps/" not in url and "sitemap" not in url
    ]

    assert len(pages) > 200
    assert not any(b"/hidden/" in body for body in pages)


def test_the_truth_knows_what_a_sitemap_leads_to_and_what_it_must_not() -> None:
    truth = ground_truth(WEB)
    without = ground_truth(SimWeb(SimWebConfig(hosts=40, pages=400, disallowed_rate=0.1)))

    found = {url for url in truth.stored if "/hidden/" in url}
    assert len(found) == HIDDEN * sum(WEB.site_maps.has(host) for host in WEB.hosts)
    assert truth.stored - without.stored == {
        url for url in truth.stored if re.search("/hidden/|/maps/|/sitemap.xml", url)
    }
    assert without.forbidden <= truth.forbidden
    assert any(host.kind(page) is Kind.RESTRICTED for host in WEB.hosts for page in WEB.site_maps.numbers(host))
