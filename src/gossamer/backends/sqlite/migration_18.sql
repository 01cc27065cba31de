-- From schema 17: commits count the URLs of hosts, in a table of their own and without a trigger. Near-duplicates are
-- found among signatures in memory.
CREATE TABLE host_counts (
    host_id       INTEGER PRIMARY KEY,
    known         INTEGER NOT NULL,
    queued        INTEGER NOT NULL,
    stored        INTEGER NOT NULL,
    answered      INTEGER NOT NULL,
    excluded      INTEGER NOT NULL
);
INSERT INTO host_counts (host_id, known, queued, stored, answered, excluded)
SELECT host_id, count(*), sum(state = 0), sum(state = 1), sum(visits > 0), sum(state = 6) FROM urls GROUP BY host_id;
DROP TRIGGER urls_counted;
ALTER TABLE hosts DROP COLUMN away;
ALTER TABLE hosts DROP COLUMN stored;
ALTER TABLE hosts DROP COLUMN answered;
ALTER TABLE hosts DROP COLUMN excluded;
DROP INDEX IF EXISTS domains_without_suffix;
DROP TABLE near_bands;
DROP TABLE near_segments;
