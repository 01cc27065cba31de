-- What people ask of a crawl's database. Every statement reads a bounded number of rows at a time, so that a reader
-- left open never keeps the write-ahead log of a running crawl from being folded back.

-- name: number_of_seeds
SELECT count(*) FROM seeds

-- name: number_of_hosts_and_domains
-- Rows are never taken away and numbered without gaps, so the last number is their count.
SELECT (SELECT coalesce(max(id), 0) FROM hosts), (SELECT coalesce(max(id), 0) FROM domains)

-- name: dead_reasons
SELECT reason, count(*) FROM urls WHERE state = 7 GROUP BY reason

-- name: warc_totals
SELECT count(*), coalesce(sum(committed), 0) FROM warc_files

-- What a crawl waits for. Each follows an index by date and ends at a limit.

-- name: last_front
SELECT coalesce(max(front), -1) FROM fronts

-- name: ready_hosts
SELECT f.host_id
FROM (SELECT host_id, front FROM fronts WHERE front = ?1 AND place <= ?2 ORDER BY place, host_id LIMIT ?3) f
JOIN hosts h ON h.id = f.host_id
WHERE h.next_contact <= ?2
    AND EXISTS (SELECT 1 FROM urls u WHERE u.state = 0 AND u.host_id = f.host_id AND u.front = f.front AND u.place <= ?2)

-- name: resting_hosts
SELECT count(*), min(h.next_contact)
FROM (SELECT id, next_contact FROM hosts WHERE next_contact > 0 AND next_contact > ?1 ORDER BY next_contact LIMIT ?2) h
WHERE EXISTS (SELECT 1 FROM urls u WHERE u.state = 0 AND u.host_id = h.id)

-- name: retries
SELECT count(*), min(available_at)
FROM (SELECT available_at FROM urls WHERE state = 0 AND reason IS NOT NULL AND available_at > ?1
      ORDER BY available_at LIMIT ?2)

-- name: recrawls
SELECT count(*), min(available_at)
FROM (SELECT available_at FROM urls WHERE state IN (1, 2, 3, 5) AND available_at IS NOT NULL ORDER BY available_at LIMIT ?)

-- name: overdue
SELECT count(*) FROM (SELECT 1 FROM urls WHERE state IN (1, 2, 3, 5) AND available_at <= ?1 LIMIT ?2)

-- Stored pages among some URLs that are evenly spread over all. Ids have no gaps here, so that they are found by number.
-- name: copy_sample
WITH RECURSIVE known (last) AS (SELECT coalesce(max(id), 0) FROM urls),
spread (number, id) AS (
    SELECT 0, 1
    UNION ALL SELECT number + 1, 1 + CAST((number + 1) * max(1.0, last * 1.0 / ?1) AS INTEGER) FROM spread, known
    WHERE number + 1 < min(last, ?1))
SELECT u.memory_one, u.memory_two, v.at, h.changing
FROM spread CROSS JOIN urls u ON u.id = spread.id CROSS JOIN visits v ON v.url_id = u.id CROSS JOIN hosts h ON h.id = u.host_id
WHERE u.visits > 0 AND v.digest IS NOT NULL

-- name: seeds_after
SELECT url FROM seeds WHERE url > ? ORDER BY url LIMIT ?

-- name: outcome_of
SELECT coalesce(u.was, u.state), u.reason, v.status, v.redirect_to
FROM domains d JOIN urls u ON u.domain_id = d.id AND u.fingerprint = ?2 LEFT JOIN visits v ON v.url_id = u.id
WHERE d.domain = ?1

-- name: seed_sources
SELECT DISTINCT source FROM seeds
