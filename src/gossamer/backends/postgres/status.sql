-- What people ask of a crawl's database. Every statement reads a bounded number of rows at a time, so that no snapshot lasts
-- long enough to keep old versions of rows from being removed.

-- name: number_of_seeds
SELECT count(*) FROM seeds

-- name: number_of_hosts_and_domains
-- Rows are never taken away, and numbered without gaps within their partition.
SELECT coalesce(sum((SELECT max(id) - ((p::bigint) << 40) FROM hosts WHERE id >= p::bigint << 40 AND id < (p + 1)::bigint << 40)), 0)::bigint,
    coalesce(sum((SELECT max(id) - ((p::bigint) << 40) FROM domains WHERE id >= p::bigint << 40 AND id < (p + 1)::bigint << 40)), 0)::bigint
FROM unnest(/*parts*/) p

-- name: dead_reasons
SELECT reason, count(*) FROM dead GROUP BY reason

-- name: warc_totals
SELECT count(*), coalesce(sum(committed), 0)::bigint FROM warc_files

-- What a crawl waits for. Each follows an index by date and ends at a limit.

-- name: last_front
SELECT coalesce(max(f.front), -1) FROM unnest(/*parts*/) p CROSS JOIN LATERAL
    (SELECT front FROM fronts WHERE part = p ORDER BY front DESC LIMIT 1) f

-- name: ready_hosts
SELECT f.host_id
FROM (SELECT f.host_id FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT place, host_id FROM fronts WHERE part = p AND front = $1 AND place <= $2 ORDER BY place, host_id LIMIT $3) f
    ORDER BY f.place, f.host_id LIMIT $3) f
JOIN hosts h ON h.id = f.host_id
WHERE h.next_contact <= $2
    AND EXISTS (SELECT 1 FROM queue q WHERE q.host_id = f.host_id AND q.front = $1 AND q.place <= $2)

-- name: resting_hosts
SELECT count(*), min(h.next_contact)
FROM (SELECT id, next_contact FROM hosts WHERE next_contact > 0 AND next_contact > $1 ORDER BY next_contact LIMIT $2) h
WHERE EXISTS (SELECT 1 FROM queue q WHERE q.host_id = h.id)

-- name: retries
SELECT count(*), min(at) FROM (
    SELECT r.at FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT at FROM retries WHERE part = p AND at > $1 ORDER BY at LIMIT $2) r
    LIMIT $2) waiting

-- name: recrawls
SELECT count(*), min(at) FROM (
    SELECT d.at FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT at FROM due WHERE part = p AND NOT missing ORDER BY at LIMIT $1) d
    ORDER BY d.at LIMIT $1) planned

-- name: overdue
SELECT count(*) FROM (
    SELECT 1 FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT 1 FROM due WHERE part = p AND NOT missing AND at <= $1 LIMIT $2) d
    LIMIT $2) overdue

-- Stored pages among some URLs that are evenly spread over all: by their number within their partition. Which URLs these are
-- is settled before their rows are read: joined with the rows, the bounds would be compared for each pair.
-- name: copy_sample
WITH counted AS MATERIALIZED (
    SELECT p AS part, (SELECT max(id) - (p::bigint << 40) FROM urls WHERE id > p::bigint << 40 AND id < (p + 1)::bigint << 40)
        AS last FROM unnest(/*parts*/) p),
known AS (
    SELECT part, last, sum(last) OVER (ORDER BY part)::bigint - last AS before, sum(last) OVER () AS total
    FROM counted WHERE last > 0),
spread AS MATERIALIZED (
    SELECT (known.part::bigint << 40) + 1 + number - known.before AS id
    FROM (SELECT floor(step * greatest(1.0, total / $1::float8))::bigint AS number
        FROM (SELECT max(total)::float8 AS total FROM known) all_urls,
            generate_series(0, least(total, $1::float8)::bigint - 1) AS step) chosen
    JOIN known ON number >= known.before AND number < known.before + known.last)
SELECT u.memory_one, u.memory_two, v.at, h.changing
FROM spread JOIN urls u ON u.id = spread.id JOIN visits v ON v.url_id = u.id JOIN hosts h ON h.id = u.host_id
WHERE u.visits > 0 AND v.digest IS NOT NULL

-- name: seeds_after
SELECT url FROM seeds WHERE left(url, 1000) COLLATE "C" >= left($1, 1000) AND url > $1
ORDER BY left(url, 1000) COLLATE "C", url LIMIT $2

-- name: outcome_of
SELECT coalesce(u.was, u.state), u.reason, v.status, v.redirect_to
FROM domains d JOIN urls u ON u.domain_id = d.id AND u.fingerprint = $2 LEFT JOIN visits v ON v.url_id = u.id
WHERE d.domain = $1

-- name: seed_sources
SELECT DISTINCT source FROM seeds
