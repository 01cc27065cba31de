"""Facts about URLs of all kinds, for property tests."""

import string

from hypothesis import strategies as st

from gossamer.model.facts import BIRTH_CREDIT, HostFacts, UrlFacts
from gossamer.model.units import Url

COUNTS = st.one_of(st.integers(0, 300), st.integers(0, 10**12))
CREDITS = st.one_of(st.integers(0, 2 * BIRTH_CREDIT), st.integers(0, 10**15))
AGES = st.none() | st.floats(-1e9, 1e12)
LABELS = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
HOSTS = st.lists(LABELS, min_size=1, max_size=5).map(".".join)
NAMES = st.text(string.ascii_letters + string.digits + ".-_~%:@", max_size=12)


@st.composite
def urls(draw: st.DrawFn) -> Url:
    """In canonical form, or none at all."""
    if draw(st.integers(0, 9)) == 0:
        return Url("")
    scheme = draw(st.sampled_from(("http", "https", "ftp")))
    port = draw(st.sampled_from(("", ":8080")))
    path = "/".join(draw(st.lists(NAMES, max_size=6)))
    query = draw(st.sampled_from(("", "", "?", "?a=1", "?u=http://x/y.pdf", "?a=/b/c/")))
    return Url(f"{scheme}://{draw(HOSTS)}{port}/{path}{query}")


@st.composite
def url_facts(draw: st.DrawFn) -> UrlFacts:
    links, visits = draw(COUNTS), draw(COUNTS)
    return UrlFacts(
        draw(st.integers(1, 10**9)),
        draw(urls()),
        draw(COUNTS),
        links,
        draw(st.integers(0, links)),
        draw(CREDITS),
        visits,
        draw(st.integers(0, max(0, visits - 1))),
        draw(COUNTS),
        draw(COUNTS),
        draw(COUNTS),
        draw(st.builds(HostFacts, COUNTS, COUNTS, COUNTS)),
        draw(st.none() | st.floats(0.0, 1.0)),
        draw(AGES),
    )
