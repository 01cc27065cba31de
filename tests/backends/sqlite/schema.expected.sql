CREATE TRIGGER urls_counted AFTER UPDATE OF state, visits ON urls
WHEN new.state <> old.state OR (new.visits > 0) <> (old.visits > 0)
BEGIN
    UPDATE hosts SET away = away + (new.state <> 0) - (old.state <> 0),
        stored = stored + (new.state = 1) - (old.state = 1),
        answered = answered + (new.visits > 0) - (old.visits > 0),
        excluded = excluded + (new.state = 6) - (old.state = 6)
    WHERE id = new.host_id;
END;
CREATE TABLE brought (
    url_id        INTEGER PRIMARY KEY,
    page          TEXT    NOT NULL
);
CREATE TABLE budgets (
    host_id       INTEGER PRIMARY KEY,
    state         TEXT    NOT NULL
);
CREATE TABLE captures (
    warc_file      INTEGER NOT NULL,
    warc_offset    INTEGER NOT NULL,
    warc_length    INTEGER NOT NULL,
    url_id         INTEGER NOT NULL,
    revisit        INTEGER NOT NULL,     -- 1: the document itself is elsewhere
    captured_at    REAL,                 -- the date of the record; null: written by an older version
    payload_digest BLOB,                 -- SHA-1 of the body as received; null: written by an older version
    set_aside      INTEGER NOT NULL DEFAULT 0,  -- 1: found worthless by `verify --repair`, and not to be counted
    PRIMARY KEY (warc_file, warc_offset)
) WITHOUT ROWID;
CREATE TABLE contents (
    digest        BLOB PRIMARY KEY,
    url_id        INTEGER NOT NULL
, warc_file INTEGER, warc_offset INTEGER) WITHOUT ROWID;
CREATE TABLE counters (
    name          TEXT PRIMARY KEY,
    value         INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE domain_budgets (
    domain_id     INTEGER PRIMARY KEY,
    state         TEXT    NOT NULL
);
CREATE TABLE domains (
    id            INTEGER PRIMARY KEY,
    domain        TEXT    NOT NULL UNIQUE,
    partition     INTEGER NOT NULL,
    accesses      INTEGER NOT NULL DEFAULT 0
, links INTEGER NOT NULL DEFAULT 0, links_from_others INTEGER NOT NULL DEFAULT 0, suffix_id INTEGER NOT NULL DEFAULT 0);
CREATE TABLE elsewhere (
    fingerprint   INTEGER PRIMARY KEY
);
CREATE TABLE facts (
    name          TEXT PRIMARY KEY,
    value         TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE failures (
    url_id        INTEGER NOT NULL,
    at            REAL    NOT NULL,
    reason        TEXT    NOT NULL,
    status        INTEGER,
    detail        TEXT
);
CREATE TABLE fronts (
    host_id       INTEGER NOT NULL,
    front         INTEGER NOT NULL,
    place  REAL    NOT NULL,
    PRIMARY KEY (host_id, front)
) WITHOUT ROWID;
CREATE TABLE hints (
    url_id        INTEGER PRIMARY KEY,
    listed_in     INTEGER NOT NULL,      -- urls.id of the sitemap or feed
    changefreq    TEXT,
    priority      REAL
);
CREATE TABLE hosts (
    id            INTEGER PRIMARY KEY,
    host          TEXT    NOT NULL UNIQUE,
    domain_id     INTEGER NOT NULL,
    next_contact  REAL    NOT NULL DEFAULT 0,
    last_took     REAL    NOT NULL DEFAULT 0,
    address       TEXT
, rest_reason TEXT, resolved TEXT, trouble TEXT, changing TEXT, away INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0, answered INTEGER NOT NULL DEFAULT 0, excluded INTEGER NOT NULL DEFAULT 0);
CREATE TABLE links (
    url_id        INTEGER PRIMARY KEY,
    targets       BLOB    NOT NULL       -- fingerprints, 64 bits each, little-endian
);
CREATE TABLE long_links (
    url_id        INTEGER NOT NULL,      -- the page
    shown         TEXT    NOT NULL,      -- the beginning, at most 256 bytes
    digest        BLOB    NOT NULL,      -- SHA-256 of the link as written
    size          INTEGER NOT NULL,      -- bytes
    PRIMARY KEY (url_id, digest)
) WITHOUT ROWID;
CREATE TABLE near_bands (
    segment       INTEGER NOT NULL,
    first_band    INTEGER NOT NULL,
    bands         BLOB    NOT NULL,       -- in order, 64 bits each; no band is in two rows of a segment
    owners        BLOB    NOT NULL,       -- urls.id of each, 64 bits each
    PRIMARY KEY (segment, first_band)
) WITHOUT ROWID;
CREATE TABLE near_segments (
    id            INTEGER PRIMARY KEY,
    last_seq      INTEGER NOT NULL
);
CREATE TABLE outbox (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,   -- in the order of discovery; never given again
    part          INTEGER NOT NULL,                    -- the owner
    url           TEXT    NOT NULL,
    depth         INTEGER NOT NULL,
    hops          INTEGER NOT NULL,
    via           INTEGER NOT NULL,
    sitemap       INTEGER NOT NULL,
    modified      REAL,
    page          TEXT                                 -- that it was found on; null for a seed
);
CREATE TABLE parameters (
    host          TEXT    NOT NULL,
    place         TEXT    NOT NULL,      -- filter.identity.place_of
    name          TEXT    NOT NULL,
    pairs         INTEGER NOT NULL,      -- of URLs that differed in nothing else and had the same document
    contents      INTEGER NOT NULL,      -- different documents among these
    learnt_at     REAL    NOT NULL,
    refuted_at    REAL,                  -- null: it makes no difference
    PRIMARY KEY (host, place, name)
) WITHOUT ROWID;
CREATE TABLE robots (
    origin        TEXT PRIMARY KEY,
    host_id       INTEGER NOT NULL,
    status        INTEGER,
    fetched_at    REAL    NOT NULL,
    expires_at    REAL    NOT NULL,
    body          BLOB    NOT NULL
, unreachable_since REAL) WITHOUT ROWID;
CREATE TABLE seeds (
    url           TEXT PRIMARY KEY,
    written       TEXT NOT NULL,
    source        TEXT NOT NULL,
    added_at      REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE signatures (
    seq               INTEGER PRIMARY KEY,
    url_id            INTEGER NOT NULL,
    signature         BLOB    NOT NULL,   -- 64 bytes
    near_duplicate_of INTEGER,            -- urls.id; null: it is an original
    distance          INTEGER
);
CREATE TABLE sitemap_names (
    url_id        INTEGER NOT NULL,      -- the sitemap
    host          TEXT    NOT NULL,
    PRIMARY KEY (url_id, host)
) WITHOUT ROWID;
CREATE TABLE sitemaps (
    url_id        INTEGER PRIMARY KEY,
    host_id       INTEGER NOT NULL,
    kind          TEXT    NOT NULL,      -- extract.sitemaps.ListKind
    entries       INTEGER NOT NULL,
    dropped       INTEGER NOT NULL       -- not used: too many, or without a URL
);
CREATE TABLE soft_missing (
    host_id       INTEGER PRIMARY KEY,
    state         TEXT    NOT NULL
);
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE suffixes (
    id            INTEGER PRIMARY KEY,
    suffix        TEXT    NOT NULL UNIQUE,
    visits        INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE uncounted (
    id            INTEGER PRIMARY KEY,
    targets       INTEGER NOT NULL,      -- how many
    pages         BLOB    NOT NULL       -- backends.sqlite.link_pages
);
CREATE TABLE urls (
    id            INTEGER PRIMARY KEY,
    host_id       INTEGER NOT NULL,
    domain_id     INTEGER NOT NULL,
    fingerprint   INTEGER NOT NULL,
    url           TEXT    NOT NULL,
    state         INTEGER NOT NULL,      -- model.states.UrlState
    front         INTEGER NOT NULL,      -- priority class, 0 is the highest
    available_at  REAL,                  -- queued: not to be visited before; otherwise the next visit
    priority      REAL    NOT NULL,
    depth         INTEGER NOT NULL,
    tries         INTEGER NOT NULL,
    hops          INTEGER NOT NULL,      -- redirects followed to get here
    via           INTEGER NOT NULL,      -- model.task.Via
    found_on      INTEGER NOT NULL,      -- urls.id; 0 for a seed
    found_at      REAL    NOT NULL,
    reason        TEXT
, place REAL NOT NULL DEFAULT 0, links INTEGER NOT NULL DEFAULT 0, links_from_others INTEGER NOT NULL DEFAULT 0, credit INTEGER NOT NULL DEFAULT 150000000, visits INTEGER NOT NULL DEFAULT 0, changes INTEGER NOT NULL DEFAULT 0, sitemap INTEGER NOT NULL DEFAULT 0, modified REAL, planned REAL, memory_one REAL, memory_two REAL, was INTEGER);
CREATE TABLE visits (
    url_id        INTEGER PRIMARY KEY,
    at            REAL    NOT NULL,
    status        INTEGER,
    size          INTEGER,               -- bytes of the decoded document
    took          REAL,
    mime          TEXT,
    digest        BLOB,                  -- SHA-1 of the decoded document
    title         TEXT,
    etag          TEXT,
    last_modified TEXT,
    duplicate_of  INTEGER,               -- urls.id
    redirect_to   TEXT,
    warc_file     INTEGER,
    warc_offset   INTEGER,
    warc_length   INTEGER
, truncated TEXT, unverified INTEGER, replaced INTEGER, deep_links INTEGER, language TEXT, canonical TEXT);
CREATE TABLE warc_files (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    committed     INTEGER NOT NULL       -- bytes; what lies beyond was never committed
);
CREATE INDEX domains_without_suffix ON domains (id) WHERE suffix_id = 0;
CREATE INDEX failures_url ON failures (url_id);
CREATE INDEX fronts_order ON fronts (front, place, host_id);
CREATE INDEX hosts_resting ON hosts (next_contact) WHERE next_contact > 0;
CREATE INDEX outbox_order ON outbox (part, id);
CREATE INDEX robots_host ON robots (host_id);
CREATE UNIQUE INDEX signatures_url ON signatures (url_id);
CREATE INDEX sitemaps_host ON sitemaps (host_id, entries);
CREATE INDEX urls_dead ON urls (id) WHERE state = 7;
CREATE INDEX urls_dead_reasons ON urls (reason, state) WHERE state = 7;
CREATE INDEX urls_excluded ON urls (host_id, reason) WHERE state = 6;
CREATE UNIQUE INDEX urls_identity ON urls (domain_id, fingerprint);
CREATE INDEX urls_missing ON urls (available_at) WHERE state = 4;
CREATE INDEX urls_queue ON urls (host_id, front, place) WHERE state = 0;
CREATE INDEX urls_recrawls ON urls (available_at, state) WHERE state IN (1, 2, 3, 5) AND available_at IS NOT NULL;
CREATE INDEX urls_retries ON urls (available_at, state, reason) WHERE state = 0 AND reason IS NOT NULL;
CREATE INDEX urls_sitemaps ON urls (host_id) WHERE sitemap > 0;
