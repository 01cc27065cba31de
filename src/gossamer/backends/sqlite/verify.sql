-- What `verify` asks of the database. Whatever may be long is read in windows by key.

-- name: integrity
SELECT integrity_check FROM pragma_integrity_check(20) WHERE integrity_check <> 'ok'

-- name: count_states
SELECT state, count(*) FROM urls GROUP BY state

-- name: count_urls_and_hosts
SELECT (SELECT count(*) FROM urls), (SELECT count(*) FROM hosts)

-- name: hosts_without_front
SELECT h.host, h.id FROM (SELECT DISTINCT host_id FROM urls WHERE state = 0) queued
LEFT JOIN hosts h ON h.id = queued.host_id
WHERE NOT EXISTS (SELECT 1 FROM fronts f WHERE f.host_id = queued.host_id)

-- The digest of the document goes with a URL's last record only. Where unpacking was cut off, by a limit of that time, it
-- may not come out the same; the digests of the record itself still tell.
-- name: captures_of_file
SELECT c.warc_offset, c.warc_length, c.url_id, c.revisit, c.set_aside, u.url,
    CASE WHEN v.warc_file = c.warc_file AND v.warc_offset = c.warc_offset AND v.truncated IS NULL THEN v.digest END
FROM captures c
JOIN warc_files w ON w.id = c.warc_file
LEFT JOIN urls u ON u.id = c.url_id
LEFT JOIN visits v ON v.url_id = c.url_id
WHERE w.name = ? AND c.warc_offset > ? ORDER BY c.warc_offset LIMIT ?

-- A visit that names a record which no row has, and a stored page that names none.
-- name: unbacked_window
SELECT u.id, u.url, v.warc_file IS NOT NULL
FROM urls u
LEFT JOIN visits v ON v.url_id = u.id
LEFT JOIN captures c ON c.warc_file = v.warc_file AND c.warc_offset = v.warc_offset AND c.set_aside = 0
WHERE u.id > ?1 AND u.id <= ?2 AND c.url_id IS NULL AND (v.warc_file IS NOT NULL OR u.state = 1)

-- name: unknown_window
SELECT v.url_id FROM visits v LEFT JOIN urls u ON u.id = v.url_id
WHERE v.url_id > ?1 AND v.url_id <= ?2 AND u.id IS NULL

-- A stored page whose document the content-seen test does not know.
-- name: unseen_window
SELECT u.id, u.url FROM urls u JOIN visits v ON v.url_id = u.id
LEFT JOIN contents k ON k.digest = v.digest
WHERE u.id > ?1 AND u.id <= ?2 AND u.state = 1 AND v.digest IS NOT NULL AND k.digest IS NULL

-- A document that the content-seen test holds to be stored, and is not.
-- name: contents_window
SELECT k.digest, u.url, (k.warc_file IS NOT NULL AND c.url_id IS NULL) OR u.id IS NULL
FROM contents k
LEFT JOIN urls u ON u.id = k.url_id
LEFT JOIN captures c ON c.warc_file = k.warc_file AND c.warc_offset = k.warc_offset AND c.set_aside = 0
WHERE k.digest > ? ORDER BY k.digest LIMIT ?

-- name: last_url_or_visit
SELECT max((SELECT coalesce(max(id), 0) FROM urls), (SELECT coalesce(max(url_id), 0) FROM visits))

-- How it is put right.

-- name: states_of
SELECT DISTINCT u.id, u.state FROM json_each(?) lost CROSS JOIN urls u ON u.id = lost.value

-- name: enter_missing_fronts
INSERT OR IGNORE INTO fronts (host_id, front, place)
SELECT host_id, front, min(place) FROM urls WHERE state = 0 AND host_id = ? GROUP BY front

-- name: set_counter
INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)

-- name: forget_place
UPDATE visits SET warc_file = NULL, warc_offset = NULL, warc_length = NULL WHERE url_id = ?

-- name: forget_visit
DELETE FROM visits WHERE url_id = ?

-- name: forget_contents_of
DELETE FROM contents WHERE url_id = ?

-- name: forget_content
DELETE FROM contents WHERE digest = ?

-- name: learn_content
INSERT OR IGNORE INTO contents (digest, url_id, warc_file, warc_offset)
SELECT digest, url_id, warc_file, warc_offset FROM visits WHERE url_id = ? AND digest IS NOT NULL

-- name: duplicates_of
SELECT v.url_id FROM visits v JOIN json_each(?) lost ON lost.value = v.duplicate_of

-- name: set_aside
UPDATE captures SET set_aside = 1 WHERE warc_file = (SELECT id FROM warc_files WHERE name = ?) AND warc_offset = ?

-- name: forget_captures_from
DELETE FROM captures WHERE warc_file = (SELECT id FROM warc_files WHERE name = ?) AND warc_offset >= ?

-- name: forget_capture
DELETE FROM captures WHERE warc_file = (SELECT id FROM warc_files WHERE name = ?) AND warc_offset = ?

-- name: urls_named
SELECT u.url, u.id FROM urls u WHERE u.url IN (SELECT value FROM json_each(?))

-- name: add_capture
INSERT OR IGNORE INTO captures (warc_file, warc_offset, warc_length, url_id, revisit, captured_at, payload_digest, set_aside)
SELECT id, ?, ?, ?, ?, ?, ?, ? FROM warc_files WHERE name = ?

-- name: set_warc_length
UPDATE warc_files SET committed = ? WHERE name = ?

-- name: hosts_counted_wrong
SELECT count(*) FROM (
    SELECT host_id, count(*), sum(state = 0), sum(state = 1), sum(visits > 0), sum(state = 6) FROM urls GROUP BY host_id
    EXCEPT SELECT host_id, known, queued, stored, answered, excluded FROM host_counts
)
