-- Every URL that was visited has the date of its next visit (`available_at`). The gap that was planned until then, in
-- seconds; what the recrawl policy has written down, in two numbers; and the state before it was queued for that visit.
ALTER TABLE urls ADD COLUMN planned REAL;
ALTER TABLE urls ADD COLUMN memory_one REAL;
ALTER TABLE urls ADD COLUMN memory_two REAL;
ALTER TABLE urls ADD COLUMN was INTEGER;

-- How the pages of a host change, and whether its validators can be relied on (crawl.recrawling).
ALTER TABLE hosts ADD COLUMN changing TEXT;

-- Those of an older version have no date yet: the usual two weeks.
UPDATE urls SET available_at = (SELECT v.at + 1209600 FROM visits v WHERE v.url_id = urls.id)
WHERE state IN (1, 2, 3) AND available_at IS NULL;
DROP INDEX urls_recrawls;
CREATE INDEX urls_recrawls ON urls (available_at, state) WHERE state IN (1, 2, 3, 5) AND available_at IS NOT NULL;
