-- The tables of a crawl on PostgreSQL (ADR 26). The columns are those of SQLite's schema, which describes them; comments here
-- are about what differs.
--
-- Ids of domains, hosts and URLs carry their partition in the bits above the 40th, so a key that begins with one begins with
-- the partition. Where a key begins with something else, `part` is a column of its own. No index of `urls` covers a column
-- that changes, so that its updates stay within their page (HOT); which URLs are queued, due, dead or excluded is in narrow
-- tables, which every statement that moves a URL keeps. Names and URLs are compared byte by byte.

CREATE TABLE schema_version (
    version       integer NOT NULL,
    partitions    smallint NOT NULL        -- of the domains; fixed when the crawl is created
);

-- A row for each session that writes while no worker is alive, counting its transactions: tells whether a transaction is on
-- record of which the answer was lost. Workers have a row in `fence` for that.
CREATE TABLE sessions (
    id            bigint PRIMARY KEY,
    commits       bigint NOT NULL,
    opened_at     timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE urls (
    id            bigint PRIMARY KEY,
    host_id       bigint NOT NULL,
    domain_id     bigint NOT NULL,
    fingerprint   bigint NOT NULL,
    available_at  double precision,
    place         double precision NOT NULL DEFAULT 0,
    priority      double precision NOT NULL,
    found_at      double precision NOT NULL,
    modified      double precision,
    planned       double precision,
    memory_one    double precision,
    memory_two    double precision,
    last_modified double precision,
    found_on      bigint NOT NULL,
    credit        bigint NOT NULL DEFAULT 150000000,
    link_sum      bigint NOT NULL DEFAULT 0,
    depth         integer NOT NULL,
    tries         integer NOT NULL,
    hops          integer NOT NULL,
    links         integer NOT NULL DEFAULT 0,
    links_from_others integer NOT NULL DEFAULT 0,
    visits        integer NOT NULL DEFAULT 0,
    changes       integer NOT NULL DEFAULT 0,
    sitemap       integer NOT NULL DEFAULT 0,
    steps         integer NOT NULL DEFAULT 0,
    ordinal       integer NOT NULL DEFAULT 0,
    state         smallint NOT NULL,
    front         smallint NOT NULL,
    via           smallint NOT NULL,
    was           smallint,
    url           text COLLATE "C" NOT NULL,
    reason        text COLLATE "C"
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX urls_identity ON urls (domain_id, fingerprint);
CREATE INDEX urls_sitemaps ON urls (host_id) WHERE sitemap > 0;

-- The URLs in state `queued`.
CREATE TABLE queue (
    host_id       bigint NOT NULL,
    front         smallint NOT NULL,
    place         double precision NOT NULL,
    url_id        bigint NOT NULL,
    PRIMARY KEY (host_id, front, place, url_id)
);
-- Those of them that wait after a failure.
CREATE TABLE retries (
    part          smallint NOT NULL GENERATED ALWAYS AS ((url_id >> 40)::smallint) STORED,
    at            double precision NOT NULL,
    url_id        bigint NOT NULL,
    PRIMARY KEY (part, at, url_id)
);
-- The URLs in other states that have a date; `missing` apart, because they are asked for by themselves.
CREATE TABLE due (
    part          smallint NOT NULL GENERATED ALWAYS AS ((url_id >> 40)::smallint) STORED,
    missing       boolean NOT NULL,
    at            double precision NOT NULL,
    state         smallint NOT NULL,
    url_id        bigint NOT NULL,
    PRIMARY KEY (part, missing, at, state, url_id)
);
CREATE TABLE dead (
    url_id        bigint PRIMARY KEY,
    reason        text COLLATE "C"
);
CREATE TABLE excluded (
    host_id       bigint NOT NULL,
    reason        text COLLATE "C" NOT NULL,          -- empty: unknown
    url_id        bigint NOT NULL,
    PRIMARY KEY (host_id, reason, url_id)
);

CREATE TABLE fronts (
    part          smallint NOT NULL GENERATED ALWAYS AS ((host_id >> 40)::smallint) STORED,
    host_id       bigint NOT NULL,
    front         smallint NOT NULL,
    place         double precision NOT NULL,
    PRIMARY KEY (host_id, front)
);
CREATE INDEX fronts_order ON fronts (part, front, place, host_id);

CREATE TABLE visits (
    url_id        bigint PRIMARY KEY,
    at            double precision NOT NULL,
    took          double precision,
    size          bigint,
    duplicate_of  bigint,
    warc_offset   bigint,
    warc_length   bigint,
    warc_file     integer,
    status        integer,
    unverified    integer,
    replaced      integer,
    deep_links    integer,
    refused       integer,
    mime          text,
    digest        bytea,
    title         text,
    etag          text,
    last_modified text,
    redirect_to   text,
    truncated     text,
    language      text,
    canonical     text
) WITH (fillfactor = 90);

CREATE TABLE failures (
    id            bigint GENERATED ALWAYS AS IDENTITY,
    url_id        bigint NOT NULL,
    at            double precision NOT NULL,
    status        integer,
    reason        text NOT NULL,
    detail        text,
    PRIMARY KEY (url_id, id)
);

CREATE TABLE contents (
    digest        bytea PRIMARY KEY,
    url_id        bigint NOT NULL,
    warc_offset   bigint,
    warc_file     integer
);

CREATE TABLE hosts (
    id            bigint PRIMARY KEY,
    domain_id     bigint NOT NULL,
    next_contact  double precision NOT NULL DEFAULT 0,
    last_took     double precision NOT NULL DEFAULT 0,
    number        integer NOT NULL DEFAULT 0,
    host          text COLLATE "C" NOT NULL UNIQUE,
    address       text,
    rest_reason   text,
    resolved      text,
    trouble       text,
    changing      text
) WITH (fillfactor = 80);
CREATE INDEX hosts_resting ON hosts (next_contact) WHERE next_contact > 0;

CREATE TABLE host_counts (
    host_id       bigint PRIMARY KEY,
    known         bigint NOT NULL,
    queued        bigint NOT NULL,
    stored        bigint NOT NULL,
    answered      bigint NOT NULL,
    excluded      bigint NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE domains (
    id            bigint PRIMARY KEY,
    accesses      bigint NOT NULL DEFAULT 0,
    links         bigint NOT NULL DEFAULT 0,
    links_from_others bigint NOT NULL DEFAULT 0,
    suffix_id     bigint NOT NULL DEFAULT 0,
    hosts         integer NOT NULL DEFAULT 0,
    domain        text COLLATE "C" NOT NULL UNIQUE
) WITH (fillfactor = 80);

CREATE TABLE suffixes (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    suffix        text COLLATE "C" NOT NULL UNIQUE
);
-- Each worker counts in rows of its own, so that commits do not wait for each other; the sum counts. Epoch 0: no worker.
CREATE TABLE suffix_visits (
    suffix_id     bigint NOT NULL,
    epoch         bigint NOT NULL,
    visits        bigint NOT NULL,
    PRIMARY KEY (suffix_id, epoch)
) WITH (fillfactor = 50);

CREATE TABLE links (
    url_id        bigint PRIMARY KEY,
    targets       bytea NOT NULL
);

-- By the partition of the pages: its owner counts their links.
CREATE TABLE uncounted (
    part          smallint NOT NULL,
    id            bigint GENERATED ALWAYS AS IDENTITY,
    targets       bigint NOT NULL,
    pages         bytea NOT NULL,
    PRIMARY KEY (part, id)
);

CREATE TABLE long_links (
    url_id        bigint NOT NULL,
    size          bigint NOT NULL,
    shown         text NOT NULL,
    digest        bytea NOT NULL,
    PRIMARY KEY (url_id, digest)
);

CREATE TABLE robots (
    origin        text COLLATE "C" PRIMARY KEY,
    host_id       bigint NOT NULL,
    fetched_at    double precision NOT NULL,
    expires_at    double precision NOT NULL,
    unreachable_since double precision,
    guessed_at    double precision,
    status        integer,
    guess         text,
    body          bytea NOT NULL
);
CREATE INDEX robots_host ON robots (host_id);

-- A URL may be too long for an index: its digest and its beginning are indexed.
CREATE TABLE seeds (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    added_at      double precision NOT NULL,
    url           text COLLATE "C" NOT NULL,
    written       text NOT NULL,
    source        text NOT NULL
);
CREATE UNIQUE INDEX seeds_url ON seeds (md5(url));
CREATE INDEX seeds_order ON seeds (left(url, 1000) COLLATE "C");

CREATE TABLE warc_files (
    id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    committed     bigint NOT NULL,
    name          text COLLATE "C" NOT NULL UNIQUE
);

-- Archive files that are in the spool of a worker, or were at its last commit: objects that could not be put yet.
CREATE TABLE spooled_warcs (
    name          text COLLATE "C" PRIMARY KEY
);

CREATE TABLE captures (
    warc_offset    bigint NOT NULL,
    warc_length    bigint NOT NULL,
    url_id         bigint NOT NULL,
    captured_at    double precision,
    warc_file      integer NOT NULL,
    revisit        smallint NOT NULL,
    set_aside      smallint NOT NULL DEFAULT 0,
    payload_digest bytea,
    PRIMARY KEY (warc_file, warc_offset)
);

-- As `suffix_visits`.
CREATE TABLE counters (
    name          text COLLATE "C" NOT NULL,
    epoch         bigint NOT NULL,
    value         bigint NOT NULL,
    PRIMARY KEY (name, epoch)
) WITH (fillfactor = 50);

CREATE TABLE facts (
    name          text COLLATE "C" PRIMARY KEY,
    value         text NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE hints (
    url_id        bigint PRIMARY KEY,
    listed_in     bigint NOT NULL,
    priority      double precision,
    changefreq    text
);

CREATE TABLE sitemap_names (
    url_id        bigint NOT NULL,
    host          text COLLATE "C" NOT NULL,
    PRIMARY KEY (url_id, host)
);

CREATE TABLE sitemaps (
    url_id        bigint PRIMARY KEY,
    host_id       bigint NOT NULL,
    entries       bigint NOT NULL,
    dropped       bigint NOT NULL,
    kind          text NOT NULL
);
CREATE INDEX sitemaps_host ON sitemaps (host_id, entries);

CREATE SEQUENCE signature_numbers;
CREATE TABLE signatures (
    url_id            bigint PRIMARY KEY,
    seq               bigint NOT NULL DEFAULT nextval('signature_numbers'),
    near_duplicate_of bigint,
    distance          integer,
    signature         bytea NOT NULL
);
CREATE UNIQUE INDEX signatures_originals ON signatures (seq) WHERE near_duplicate_of IS NULL;

CREATE TABLE budgets (
    host_id       bigint PRIMARY KEY,
    state         text NOT NULL
);
CREATE TABLE domain_budgets (
    domain_id     bigint PRIMARY KEY,
    state         text NOT NULL
);

CREATE TABLE parameters (
    pairs         bigint NOT NULL,
    contents      bigint NOT NULL,
    learnt_at     double precision NOT NULL,
    refuted_at    double precision,
    host          text COLLATE "C" NOT NULL,
    place         text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    PRIMARY KEY (host, place, name)
);

CREATE TABLE soft_missing (
    host_id       bigint PRIMARY KEY,
    state         text NOT NULL
);

CREATE TABLE orders (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            double precision NOT NULL,
    part          integer,
    state         smallint NOT NULL DEFAULT 0,
    kind          text NOT NULL,
    body          text NOT NULL,
    answer        text
);
CREATE INDEX orders_new ON orders (id) WHERE state = 0;
CREATE TABLE live (
    worker        text COLLATE "C" PRIMARY KEY,
    status        bytea NOT NULL
) WITH (fillfactor = 50);
