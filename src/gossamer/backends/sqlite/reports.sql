-- What people ask of a crawl's database. Every statement reads a bounded number of rows at a time, so that a reader
-- left open never keeps the write-ahead log of a running crawl from being folded back.

-- name: seed_count
SELECT count(*) FROM seeds

-- name: host_counts
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
FROM (SELECT host_id, front FROM fronts WHERE front = :front AND place <= :now ORDER BY place, host_id LIMIT :most) f
JOIN hosts h ON h.id = f.host_id
WHERE h.next_contact <= :now
    AND EXISTS (SELECT 1 FROM urls u WHERE u.state = 0 AND u.host_id = f.host_id AND u.front = f.front AND u.place <= :now)

-- name: resting_hosts
SELECT count(*), min(h.next_contact)
FROM (SELECT id, next_contact FROM hosts WHERE next_contact > 0 AND next_contact > :now ORDER BY next_contact LIMIT :most) h
WHERE EXISTS (SELECT 1 FROM urls u WHERE u.state = 0 AND u.host_id = h.id)

-- name: retries
SELECT count(*), min(available_at)
FROM (SELECT available_at FROM urls WHERE state = 0 AND reason IS NOT NULL AND available_at > :now
      ORDER BY available_at LIMIT :most)

-- name: recrawls
SELECT count(*), min(available_at)
FROM (SELECT available_at FROM urls WHERE state IN (1, 2, 3, 5) AND available_at IS NOT NULL ORDER BY available_at LIMIT :most)

-- name: refreshing
SELECT coalesce(max(value), 0) FROM counters WHERE name = 'refreshing'

-- name: overdue
SELECT count(*) FROM (SELECT 1 FROM urls WHERE state IN (1, 2, 3, 5) AND available_at <= :now LIMIT :most)

-- name: visited
SELECT u.memory_one, u.memory_two, v.at, h.changing
FROM urls u JOIN visits v ON v.url_id = u.id JOIN hosts h ON h.id = u.host_id
WHERE u.id = ? AND u.visits > 0 AND v.digest IS NOT NULL

-- name: under_way
SELECT count(*) FROM outbox
