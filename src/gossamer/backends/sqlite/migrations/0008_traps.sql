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

-- What a rule keeps out, by host: to be shown, and to be given back when the rule is lifted.
CREATE INDEX urls_excluded ON urls (host_id, reason) WHERE state = 6;
