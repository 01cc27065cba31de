"""Pages in the shape of DuckDuckGo's page for browsers without scripts, written for these tests."""

from urllib.parse import quote

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body class="body--html"><form id="search_form" action="/html/" method="post"><input name="q"></form>
<div><div class="serp__results"><div id="links" class="results">
{blocks}
</div></div></div></body></html>
"""


def result(url: str, title: str = "A title") -> str:
    """One result, its link through the engine's redirect."""
    link = f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&amp;rut=0123456789abcdef"
    return f"""<div class="result results_links results_links_deep web-result ">
 <div class="links_main links_deep result__body">
  <h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">{title}</a></h2>
  <div class="result__extras"><a class="result__url" href="{link}">example</a></div>
  <a class="result__snippet" href="{link}">Some words about it</a>
 </div>
</div>"""


def advertisement(url: str) -> str:
    """A paid block: marked as one, its link through the engine's counter."""
    link = f"https://duckduckgo.com/y.js?ad_domain=shop.test&amp;u3={quote(url, safe='')}"
    return f"""<div class="result results_links results_links_deep result--ad ">
 <div class="links_main links_deep result__body">
  <h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">Buy!</a></h2>
 </div>
</div>"""


def page(*blocks: str, title: str = "words at DuckDuckGo") -> bytes:
    return _PAGE.format(title=title, blocks="\n".join(blocks)).encode()


NO_RESULTS = page(
    """<div class="result results_links results_links_deep result--no-result">
 <div class="links_main links_deep result__body"><div class="no-results">No results.</div></div></div>"""
)
BLOCKED = page(
    """<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html" method="POST">
 <div class="anomaly-modal__mask"><div class="anomaly-modal__title">Bots use DuckDuckGo too.</div></div></form>"""
)
CHANGED = page('<ol><li data-layout="organic"><a data-testid="title" href="http://a.test/">A title</a></ol>')
