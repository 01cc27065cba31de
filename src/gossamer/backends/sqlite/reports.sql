-- What people ask of a crawl's database. Every statement reads a bounded number of rows at a time, so that a reader
-- left open never keeps the write-ahead log of a running crawl from being folded back.

-- name: totals
SELECT name, value FROM counters

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

-- name: fact
SELECT value FROM facts WHERE name = ?

-- name: last_url
SELECT coalesce(max(id), 0) FROM urls

-- name: visited
SELECT u.memory_one, u.memory_two, v.at, h.changing
FROM urls u JOIN visits v ON v.url_id = u.id JOIN hosts h ON h.id = u.host_id
WHERE u.id = ? AND u.visits > 0 AND v.digest IS NOT NULL

-- name: next_missing
SELECT min(available_at) FROM urls WHERE state = 4

-- name: host_id
SELECT id FROM hosts WHERE host = ?

-- name: host_urls
SELECT id FROM urls WHERE host_id = ?

-- name: page_ids
SELECT id FROM urls WHERE id > ? ORDER BY id LIMIT ?

-- name: page_ids_of_state
SELECT id FROM urls WHERE id > ? AND state = ? ORDER BY id LIMIT ?

-- After a row, up to another, and so many at most.
-- name: pages
SELECT u.url, v.status, u.state, u.depth, u.priority, v.size, v.digest, v.at, u.available_at, d.url, v.redirect_to,
       u.reason, h.host, v.mime, v.title, coalesce(f.url, b.page), v.truncated, coalesce(v.unverified, 0), coalesce(v.replaced, 0),
       w.name, v.warc_offset, v.warc_length, n.url, s.distance, v.language, v.canonical
FROM urls u
JOIN hosts h ON h.id = u.host_id
LEFT JOIN visits v ON v.url_id = u.id
LEFT JOIN urls d ON d.id = v.duplicate_of
LEFT JOIN signatures s ON s.url_id = u.id
LEFT JOIN urls n ON n.id = s.near_duplicate_of
LEFT JOIN urls f ON f.id = u.found_on
LEFT JOIN brought b ON b.url_id = u.id
LEFT JOIN warc_files w ON w.id = v.warc_file
WHERE u.id > ? AND u.id <= ?
ORDER BY u.id LIMIT ?

-- name: dead_ids
SELECT id FROM urls WHERE state = 7 AND id > :after
    AND (:host_id IS NULL OR host_id = :host_id) AND (:reason IS NULL OR reason = :reason)
ORDER BY id LIMIT :most

-- name: dead_letter
SELECT u.url, h.host, u.reason, u.tries, u.depth, u.priority,
       (SELECT f.at     FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.status FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.detail FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       coalesce(p.url, b.page)
FROM urls u
JOIN hosts h ON h.id = u.host_id
LEFT JOIN urls p ON p.id = u.found_on
LEFT JOIN brought b ON b.url_id = u.id
WHERE u.id = ?

-- name: found_at
SELECT found_at FROM urls WHERE id = ?

-- name: under_way
SELECT count(*) FROM outbox

-- name: url_learnt
SELECT host_id, id, url, depth, links, links_from_others, credit, visits, changes, modified FROM urls WHERE id = ?

-- name: requeue
UPDATE urls SET state = 0, tries = 0, available_at = ?, front = ?, place = ?, priority = ?, reason = NULL
WHERE id = ? AND state = 7

-- What is given another life is worth another request, however its host did before.
-- name: forgive_host
UPDATE hosts SET trouble = NULL WHERE id = ? AND trouble IS NOT NULL

-- name: drop
UPDATE urls SET state = 6, available_at = NULL, reason = 'dropped' WHERE id = ? AND state = 7

-- name: enter_front
INSERT INTO fronts (host_id, front, place) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET place = min(place, excluded.place)

-- name: count
INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value
