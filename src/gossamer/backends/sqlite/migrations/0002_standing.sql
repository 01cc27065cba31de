-- What a priority rests on, and where a URL waits by it. `available_at` stays the date that a queued URL is due;
-- `place` is what its front queue is sorted by: that date, or minus the score under an ordering by score.
ALTER TABLE urls ADD COLUMN place REAL NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN links INTEGER NOT NULL DEFAULT 0;              -- fetched pages that link to it
ALTER TABLE urls ADD COLUMN links_from_others INTEGER NOT NULL DEFAULT 0;  -- of these, pages of other domains
ALTER TABLE urls ADD COLUMN credit INTEGER NOT NULL DEFAULT 150000000;     -- model.facts.BIRTH_CREDIT
ALTER TABLE urls ADD COLUMN visits INTEGER NOT NULL DEFAULT 0;             -- answered
ALTER TABLE urls ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;            -- of these, with other content than before
UPDATE urls SET visits = 1 WHERE id IN (SELECT url_id FROM visits);
DROP INDEX urls_queue;
UPDATE urls SET place = available_at WHERE state = 0 AND available_at IS NOT NULL;
CREATE INDEX urls_queue ON urls (host_id, front, place) WHERE state = 0;

DROP INDEX fronts_order;
ALTER TABLE fronts RENAME COLUMN available_at TO place;
CREATE INDEX fronts_order ON fronts (front, place, host_id);

ALTER TABLE domains ADD COLUMN links INTEGER NOT NULL DEFAULT 0;              -- to any of its URLs
ALTER TABLE domains ADD COLUMN links_from_others INTEGER NOT NULL DEFAULT 0;  -- of these, from other domains
ALTER TABLE domains ADD COLUMN suffix_id INTEGER NOT NULL DEFAULT 0;          -- 0: of an older version, not looked up yet
CREATE INDEX domains_without_suffix ON domains (id) WHERE suffix_id = 0;

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

-- Links that are in `links` but not yet in the counts: a row for each commit that brought some, gone when they are
-- counted. Whatever a crash leaves here is counted on opening.
CREATE TABLE uncounted (
    id            INTEGER PRIMARY KEY,
    targets       INTEGER NOT NULL,      -- how many
    pages         BLOB    NOT NULL       -- backends.sqlite.link_pages
);
