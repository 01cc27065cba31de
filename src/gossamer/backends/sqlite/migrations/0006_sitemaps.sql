-- Which URLs are sitemaps: 1 if robots.txt names it, and one more for every index on the way; 0 for everything else.
ALTER TABLE urls ADD COLUMN sitemap INTEGER NOT NULL DEFAULT 0;
CREATE INDEX urls_sitemaps ON urls (host_id) WHERE sitemap > 0;

-- When a URL was modified last, as a sitemap or a feed has it that may speak for it. Null: nobody has said.
ALTER TABLE urls ADD COLUMN modified REAL;

-- What else a sitemap says of a URL, and which one.
CREATE TABLE hints (
    url_id        INTEGER PRIMARY KEY,
    listed_in     INTEGER NOT NULL,      -- urls.id of the sitemap or feed
    changefreq    TEXT,
    priority      REAL
);

-- Whose robots.txt names a sitemap, or an index that leads to it: it may speak for those hosts.
CREATE TABLE sitemap_names (
    url_id        INTEGER NOT NULL,      -- the sitemap
    host          TEXT    NOT NULL,
    PRIMARY KEY (url_id, host)
) WITHOUT ROWID;

-- Sitemaps that were read.
CREATE TABLE sitemaps (
    url_id        INTEGER PRIMARY KEY,
    host_id       INTEGER NOT NULL,
    kind          TEXT    NOT NULL,      -- extract.sitemaps.ListKind
    entries       INTEGER NOT NULL,
    dropped       INTEGER NOT NULL       -- not used: too many, or without a URL
);
CREATE INDEX sitemaps_host ON sitemaps (host_id, entries);
