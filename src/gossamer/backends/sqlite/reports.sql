-- What people ask of a crawl's database. Every statement reads a bounded number of rows at a time, so that a reader
-- left open never keeps the write-ahead log of a running crawl from being folded back.

-- name: totals
SELECT name, value FROM counters

-- name: seed_count
SELECT count(*) FROM seeds

-- name: host_counts
SELECT (SELECT count(*) FROM hosts), (SELECT count(*) FROM domains)

-- name: dead_reasons
SELECT coalesce(reason, 'unknown'), count(*) FROM urls WHERE state = 7 GROUP BY 1 ORDER BY 2 DESC, 1

-- name: warc_totals
SELECT count(*), coalesce(sum(committed), 0) FROM warc_files

-- name: next_due
SELECT min(available_at) FROM fronts

-- name: host_id
SELECT id FROM hosts WHERE host = ?

-- name: host_urls
SELECT id FROM urls WHERE host_id = ?

-- name: page_ids
SELECT id FROM urls WHERE id > ? ORDER BY id LIMIT ?

-- name: page_ids_of_state
SELECT id FROM urls WHERE id > ? AND state = ? ORDER BY id LIMIT ?

-- name: page
SELECT u.url, v.status, u.state, u.depth, u.priority, v.size, v.digest, v.at, u.available_at, d.url, v.redirect_to,
       u.reason, h.host, v.mime, v.title, f.url, w.name, v.warc_offset, v.warc_length
FROM urls u
JOIN hosts h ON h.id = u.host_id
LEFT JOIN visits v ON v.url_id = u.id
LEFT JOIN urls d ON d.id = v.duplicate_of
LEFT JOIN urls f ON f.id = u.found_on
LEFT JOIN warc_files w ON w.id = v.warc_file
WHERE u.id = ?

-- name: dead_ids
SELECT id FROM urls WHERE state = 7 AND id > :after
    AND (:host_id IS NULL OR host_id = :host_id) AND (:reason IS NULL OR reason = :reason)
ORDER BY id LIMIT :most

-- name: dead_letter
SELECT u.url, h.host, u.reason, u.tries, u.depth, u.priority,
       (SELECT f.at     FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.status FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.detail FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       p.url
FROM urls u
JOIN hosts h ON h.id = u.host_id
LEFT JOIN urls p ON p.id = u.found_on
WHERE u.id = ?

-- name: url_place
SELECT host_id, front FROM urls WHERE id = ?

-- name: requeue
UPDATE urls SET state = 0, tries = 0, available_at = ?, reason = NULL WHERE id = ? AND state = 7

-- name: drop
UPDATE urls SET state = 6, available_at = NULL, reason = 'dropped' WHERE id = ? AND state = 7

-- name: enter_front
INSERT INTO fronts (host_id, front, available_at) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET available_at = min(available_at, excluded.available_at)

-- name: count
INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value
