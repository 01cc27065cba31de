-- The task table: every URL we know, and what it waits for. `id` grows with discovery, so it is also the entry number
-- that breaks ties in favour of the oldest entry.
CREATE TABLE urls (
    id            INTEGER PRIMARY KEY,
    host_id       INTEGER NOT NULL,
    domain_id     INTEGER NOT NULL,
    fingerprint   INTEGER NOT NULL,
    url           TEXT    NOT NULL,
    state         INTEGER NOT NULL,      -- model.states.UrlState
    front         INTEGER NOT NULL,      -- priority class, 0 is the highest
    available_at  REAL,                  -- queued: not to be visited before; otherwise the date of the next visit
    priority      REAL    NOT NULL,
    depth         INTEGER NOT NULL,
    tries         INTEGER NOT NULL,
    hops          INTEGER NOT NULL,      -- redirects followed to get here
    via           INTEGER NOT NULL,      -- model.task.Via
    found_on      INTEGER NOT NULL,      -- urls.id; 0 for a seed
    found_at      REAL    NOT NULL,
    reason        TEXT,
    place         REAL    NOT NULL DEFAULT 0,         -- sorts a front queue: `available_at`, or minus the score
    links         INTEGER NOT NULL DEFAULT 0,         -- fetched pages that link to it
    links_from_others INTEGER NOT NULL DEFAULT 0,     -- of these, pages of other domains
    credit        INTEGER NOT NULL DEFAULT 150000000, -- model.facts.BIRTH_CREDIT
    visits        INTEGER NOT NULL DEFAULT 0,         -- answered
    changes       INTEGER NOT NULL DEFAULT 0,         -- of these, with other content than before
    sitemap       INTEGER NOT NULL DEFAULT 0,         -- 1: named in robots.txt or guessed; one more for every index on the way; 0: none
    modified      REAL,                  -- the last modification according to a sitemap or feed that may speak for it
    planned       REAL,                  -- seconds from the last visit to the next one, as planned
    memory_one    REAL,                  -- two numbers of the recrawl policy
    memory_two    REAL,
    was           INTEGER,               -- the state before it was queued for its next visit
    link_sum      INTEGER NOT NULL DEFAULT 0,         -- of 1 / (links of the page) over the pages that link to it, in 2^-20
    steps         INTEGER NOT NULL DEFAULT 0,         -- links followed since its host was entered
    ordinal       INTEGER NOT NULL DEFAULT 0,         -- URLs of its host that were known before it
    last_modified REAL                   -- what its own server said at the last visit
);
-- By domain, not by host: in minimised form www.example.org and example.org may be one.
CREATE UNIQUE INDEX urls_identity ON urls (domain_id, fingerprint);
CREATE INDEX urls_queue ON urls (host_id, front, place) WHERE state = 0;
CREATE INDEX urls_dead ON urls (id) WHERE state = 7;
CREATE INDEX urls_missing ON urls (available_at) WHERE state = 4;
CREATE INDEX urls_sitemaps ON urls (host_id) WHERE sitemap > 0;
-- Each holds only the URLs that it is about and all that a count asks for, so that no row need be read.
CREATE INDEX urls_retries ON urls (available_at, state, reason) WHERE state = 0 AND reason IS NOT NULL;
CREATE INDEX urls_recrawls ON urls (available_at, state) WHERE state IN (1, 2, 3, 5) AND available_at IS NOT NULL;
CREATE INDEX urls_dead_reasons ON urls (reason, state) WHERE state = 7;
CREATE INDEX urls_excluded ON urls (host_id, reason) WHERE state = 6;

-- The front queues: per class, the hosts that have queued URLs of it, by the place of the first.
-- An entry may be out of date while its host has a back queue; it is made true when the host gives that up.
CREATE TABLE fronts (
    host_id       INTEGER NOT NULL,
    front         INTEGER NOT NULL,
    place         REAL    NOT NULL,
    PRIMARY KEY (host_id, front)
) WITHOUT ROWID;
CREATE INDEX fronts_order ON fronts (front, place, host_id);

-- The last visit of a URL.
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
    warc_length   INTEGER,
    truncated     TEXT,                  -- why it is a beginning only: length, time, disconnect
    unverified    INTEGER,               -- 1: over TLS, and the certificate was not checked
    replaced      INTEGER,               -- characters that are none in the page's encoding
    deep_links    INTEGER,               -- links below more elements than a tree of ours has levels
    language      TEXT,                  -- as declared, a BCP 47 tag
    canonical     TEXT,                  -- the address that it says it should have, made absolute; null: its own
    refused       INTEGER                -- why links of it were refused (model.settlement); null: unknown
);

-- Visits that did not end well, all of them.
CREATE TABLE failures (
    url_id        INTEGER NOT NULL,
    at            REAL    NOT NULL,
    reason        TEXT    NOT NULL,
    status        INTEGER,
    detail        TEXT
);
CREATE INDEX failures_url ON failures (url_id);

-- The content-seen test: which URL has this document, and where it was stored first.
CREATE TABLE contents (
    digest        BLOB PRIMARY KEY,
    url_id        INTEGER NOT NULL,
    warc_file     INTEGER,
    warc_offset   INTEGER
) WITHOUT ROWID;

CREATE TABLE hosts (
    id            INTEGER PRIMARY KEY,
    host          TEXT    NOT NULL UNIQUE,
    domain_id     INTEGER NOT NULL,
    next_contact  REAL    NOT NULL DEFAULT 0,
    last_took     REAL    NOT NULL DEFAULT 0,
    address       TEXT,
    rest_reason   TEXT,                  -- which term decided how long it rests (frontier.politeness.GapReason)
    resolved      TEXT,                  -- its last addresses, for a restart (fetch.dns.stored)
    trouble       TEXT,                  -- how long it has been failing (frontier.breaker)
    changing      TEXT,                  -- how its pages change (crawl.recrawling)
    number        INTEGER NOT NULL DEFAULT 0          -- hosts of its domain that were known before it
);
CREATE INDEX hosts_resting ON hosts (next_contact) WHERE next_contact > 0;

-- How many URLs of each host there are. Every commit that adds or moves URLs counts them; apart from `hosts`, whose rows
-- are long and would be written for every new URL.
CREATE TABLE host_counts (
    host_id       INTEGER PRIMARY KEY,
    known         INTEGER NOT NULL,
    queued        INTEGER NOT NULL,
    stored        INTEGER NOT NULL,
    answered      INTEGER NOT NULL,      -- at least once
    excluded      INTEGER NOT NULL
);

CREATE TABLE domains (
    id            INTEGER PRIMARY KEY,
    domain        TEXT    NOT NULL UNIQUE,
    partition     INTEGER NOT NULL,
    accesses      INTEGER NOT NULL DEFAULT 0,
    links         INTEGER NOT NULL DEFAULT 0,         -- to any of its URLs
    links_from_others INTEGER NOT NULL DEFAULT 0,     -- of these, from other domains
    suffix_id     INTEGER NOT NULL DEFAULT 0,
    hosts         INTEGER NOT NULL DEFAULT 0          -- that have a row
);

-- The public suffixes of the domains.
CREATE TABLE suffixes (
    id            INTEGER PRIMARY KEY,
    suffix        TEXT    NOT NULL UNIQUE,
    visits        INTEGER NOT NULL DEFAULT 0
);

-- The link graph: what each fetched page links to, known URLs or not.
CREATE TABLE links (
    url_id        INTEGER PRIMARY KEY,
    targets       BLOB    NOT NULL       -- fingerprints, 64 bits each, little-endian
);

-- Links that are in `links` but not yet in the counts: a row for each commit that brought some, deleted when they are
-- counted. What a crash leaves here is counted on opening.
CREATE TABLE uncounted (
    id            INTEGER PRIMARY KEY,
    targets       INTEGER NOT NULL,      -- how many
    pages         BLOB    NOT NULL       -- backends.sqlite.link_pages
);

-- Links that were too long to enter, the first few of each page: never in full.
CREATE TABLE long_links (
    url_id        INTEGER NOT NULL,      -- the page
    shown         TEXT    NOT NULL,      -- the beginning, at most 256 bytes
    digest        BLOB    NOT NULL,      -- SHA-256 of the link as written
    size          INTEGER NOT NULL,      -- bytes
    PRIMARY KEY (url_id, digest)
) WITHOUT ROWID;

CREATE TABLE robots (
    origin        TEXT PRIMARY KEY,
    host_id       INTEGER NOT NULL,
    status        INTEGER,
    fetched_at    REAL    NOT NULL,
    expires_at    REAL    NOT NULL,
    body          BLOB    NOT NULL,
    unreachable_since REAL,              -- status, times and body are then what was known before; status is null if nothing
    guessed_at    REAL,                  -- when /sitemap.xml was requested last because the file names no sitemap
    guess         TEXT                   -- what became of that
) WITHOUT ROWID;
CREATE INDEX robots_host ON robots (host_id);

CREATE TABLE seeds (
    url           TEXT PRIMARY KEY,
    written       TEXT NOT NULL,
    source        TEXT NOT NULL,
    added_at      REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE warc_files (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    committed     INTEGER NOT NULL       -- bytes; what lies beyond was never committed
);

-- Archive files that are in the spool of a worker, or were at its last commit: objects that could not be put yet.
CREATE TABLE spooled_warcs (
    name          TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Every record that holds a document, or says that it is one we hold: `visits` knows a URL's last one only.
CREATE TABLE captures (
    warc_file      INTEGER NOT NULL,
    warc_offset    INTEGER NOT NULL,
    warc_length    INTEGER NOT NULL,
    url_id         INTEGER NOT NULL,
    revisit        INTEGER NOT NULL,     -- 1: the document itself is elsewhere
    captured_at    REAL,                 -- the date of the record; null: unknown
    payload_digest BLOB,                 -- SHA-1 of the body as received; null: unknown
    set_aside      INTEGER NOT NULL DEFAULT 0,  -- 1: found worthless by `verify --repair`, and not to be counted
    PRIMARY KEY (warc_file, warc_offset)
) WITHOUT ROWID;

CREATE TABLE counters (
    name          TEXT PRIMARY KEY,
    value         INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE facts (
    name          TEXT PRIMARY KEY,
    value         TEXT NOT NULL
) WITHOUT ROWID;

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

-- Near-duplicates: the signature of the text of each page that was stored (`sketch`), and, of a page that is almost
-- another, which one that is and in how many bytes their signatures differ. Of the last visit, as `visits`. `seq` grows
-- with every visit: the latest originals are read again on a start.
CREATE TABLE signatures (
    seq               INTEGER PRIMARY KEY,
    url_id            INTEGER NOT NULL,
    signature         BLOB    NOT NULL,   -- 64 bytes
    near_duplicate_of INTEGER,            -- urls.id; null: it is an original
    distance          INTEGER
);
CREATE UNIQUE INDEX signatures_url ON signatures (url_id);

-- What was spent on each shape of a host's URLs, and on a domain's hosts, in text of filter.traps_budget; only where
-- there was more to be counted than a few pages.
CREATE TABLE budgets (
    host_id       INTEGER PRIMARY KEY,
    state         TEXT    NOT NULL
);
CREATE TABLE domain_budgets (
    domain_id     INTEGER PRIMARY KEY,
    state         TEXT    NOT NULL
);

-- Parameters that choose no document on a host (filter.learning), and those of which that was wrong.
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

-- What hosts have shown in place of pages that they do not have, in text of `dedup`.
CREATE TABLE soft_missing (
    host_id       INTEGER PRIMARY KEY,
    state         TEXT    NOT NULL
);

-- Changes that were asked for through the service, in the order in which they came, until their answers were read.
CREATE TABLE orders (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,   -- never given again
    part          INTEGER,                             -- the partition concerned; null: the crawl has one worker
    kind          TEXT    NOT NULL,
    body          TEXT    NOT NULL,                    -- JSON
    at            REAL    NOT NULL,
    state         INTEGER NOT NULL DEFAULT 0,          -- 0: new, 1: applied, 2: refused
    answer        TEXT                                 -- JSON
);
CREATE INDEX orders_new ON orders (id) WHERE state = 0;

-- The last status of each running worker, where it is not in a file.
CREATE TABLE live (
    worker        TEXT    PRIMARY KEY,
    status        BLOB    NOT NULL                     -- observe.snapshot.Status, as JSON
) WITHOUT ROWID;
