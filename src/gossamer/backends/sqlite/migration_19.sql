-- From schema 18: what the score of a URL is made of is stored with it. Old rows get what can be told from them: a page is
-- at most as many links away from the entry of its host as from a seed, and a link is worth what it is on average.
ALTER TABLE urls ADD COLUMN link_sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN last_modified REAL;
ALTER TABLE hosts ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE domains ADD COLUMN hosts INTEGER NOT NULL DEFAULT 0;
WITH ranked AS (SELECT id, row_number() OVER (PARTITION BY host_id ORDER BY id) - 1 AS ordinal FROM urls),
    average AS (SELECT max(1, coalesce(avg(length(targets)) / 8, 1)) AS links FROM links)
UPDATE urls SET ordinal = ranked.ordinal, steps = urls.depth, link_sum = CAST(1048576 * urls.links / average.links AS INTEGER)
FROM ranked, average WHERE urls.id = ranked.id;
WITH ranked AS (SELECT id, row_number() OVER (PARTITION BY domain_id ORDER BY id) - 1 AS number FROM hosts)
UPDATE hosts SET number = ranked.number FROM ranked WHERE hosts.id = ranked.id;
WITH counted AS (SELECT domain_id, count(*) AS hosts FROM hosts GROUP BY domain_id)
UPDATE domains SET hosts = counted.hosts FROM counted WHERE domains.id = counted.domain_id;
