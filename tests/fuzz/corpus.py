"""What fuzzing begins with: small, honest documents of every kind, and a few that are not."""

ROBOTS = (
    b"User-agent: *\nDisallow: /private/\nAllow: /private/open*.html$\nCrawl-delay: 2.5\n\n"
    b"User-agent: gossamer\nUser-agent: other/1.0\nDisallow: /*?session=\nSitemap: http://x.test/sitemap.xml\n",
    b"\xef\xbb\xbfuser-agent : Gossamer\r\ndisallow:/a%2fb%C3%A9\r\nallow: /a # why\r\n",
    b"Disallow: /\rUser-agent: *\rDissallow: /x\rcrawl-delay: 1e3\r",
    "User-agent: *\nDisallow: /\u00e9*\u00fc$\n".encode("utf-16"),
    b"<html><body>User-agent: *<br>Disallow: /</body></html>",
)

HTML_PAGES = (
    b"\n<!DOCTYPE html><html><head><meta charset=koi8-r><title>A title</title><base href='/b/'></head>"
    b"<body><a href=x.html>x</a><a rel=nofollow href='y'>y</a><iframe src='//z.test/'></iframe></body></html>",
    b"utf-8\n<?xml version='1.0' encoding='iso-8859-2'?><html xmlns='x'><a href=\"?a&amp;b\">l</a></html>",
    b'\n<!-- <meta charset=x> --><meta http-equiv="Content-Type" content="text/html; charset=gb2312">',
    b'\n<meta http-equiv=refresh content="0; url=next.html"><meta name=robots content="noindex, nofollow">',
    b"\xff\xfe<\0h\0t\0m\0l\0>\0",
    b"\n<template><a href=a></template><svg><title>x</title><a href=b></svg><table><a href=c><td>",
    b"\n<p" + b" a=b" * 20 + b"><div>" * 20,
)

URLS = (
    b"http://www.example.test/a/b/../c?x=1&y=2#f",
    b"HTTPS://User:Pw@EXAMPLE.test:443/%7e%41/%2E%2e/",
    b"//other.test/x",
    b"/rooted/path?q",
    b"relative/./path",
    b"../../up",
    b"?query",
    b"#fragment",
    b"mailto:someone@example.test",
    b"javascript:void(0)",
    b"http://[::ffff:127.0.0.1]:8080/",
    b"http://0x7f.1/",
    "http://b\u00fccher.test/\u00e9?\u00fc=\u00df".encode(),
    b"http://xn--bcher-kva.test/",
    b"\thttp:\\\\example.test\\a b ",
    b"http://example.test:22/",
    b"http:///no-host",
)
LONG_URLS = (
    b"http://example.test/" + b"a/" * 500,
    b"http://" + b"a." * 100 + b"test/",
    b"http://a.test/?" + b"x=1&" * 300,
)

FEED = b"<?xml version='1.0'?><!-- x --><rss version='2.0'><channel><link>http://x.test/</link></channel></rss>"

LISTINGS = (
    b"total 2\r\ndrwxr-xr-x   2 root  wheel  4096 Jan 31 12:00 sub dir\r\n"
    b"-rw-r--r--   1 root  wheel    12 Dec  1  2019 a.txt\r\nlrwxrwxrwx 1 r w 3 Feb 02 10:10 link -> /etc\r\n",
    b"01-31-20  12:00PM       <DIR>          sub\r\n12-01-19  01:00AM                   12 a.txt\r\n",
    b"type=cdir; .\r\ntype=dir;modify=20200131120000; sub dir\r\ntype=file;size=12; a:b?c#d\xff.txt\r\n",
)

_RESULT = (
    b'<div class="result web-result"><h2 class="result__title"><a class="result__a" '
    b'href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2F&amp;rut=1">A</a></h2></div>'
)
SEARCH_PAGES = (
    b"<!DOCTYPE html><html><body>" + _RESULT * 3 + b"</body></html>",
    b'<div class="result result--ad"><a class="result__a" href="/y.js?ad_domain=x">Ad</a></div>' + _RESULT,
    b'<div class="no-results">No results.</div>',
    b'<form id="challenge-form" action="/anomaly.js"><div class="anomaly-modal__title">x</div></form>',
)

SITEMAPS = (
    b"""<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <url><loc>http://x.test/?a=1&amp;b=2</loc><lastmod>2020-01-01T10:00:00+01:00</lastmod><changefreq>daily</changefreq>
    <priority>0.5</priority><image:image><image:loc>http://x.test/i.png</image:loc></image:image></url>
    <url><loc><![CDATA[http://x.test/b]]></loc><xhtml:link rel="alternate" href="http://x.test/de"/></url></urlset>""",
    b"""<!DOCTYPE sitemapindex [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "z">]><sitemapindex><sitemap>
    <loc>http://x.test/&x;a.xml&y;</loc></sitemap><sitemap>http://x.test/b.xml.gz</sitemap></sitemapindex>""",
    b"http://x.test/a\nhttp://x.test/b\r\n# c\n",
    b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://x.test/a/"><link href="/"/><entry>
    <link rel="enclosure" href="b.mp3"/><link href="c"/><updated>2020-01-01</updated></entry></feed>""",
    b"""<rdf:RDF><channel><link>http://x.test/</link></channel><item><guid>http://x.test/g</guid>
    <pubDate>Thu, 05 Jan 2017 13:34:51 +0100</pubDate></item></rdf:RDF>""",
    '<?xml version="1.0"?><urlset><url><loc>http://x.test/</loc></url></urlset>'.encode("utf-16"),
)
