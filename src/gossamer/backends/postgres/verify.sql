-- What `verify` asks of the database. Whatever may be long is read in windows by key.

-- name: integrity
-- The server checks its own files.
SELECT ''::text WHERE false

-- name: count_states
SELECT state, count(*) FROM urls GROUP BY state

-- name: count_urls_and_hosts
SELECT (SELECT count(*) FROM urls), (SELECT count(*) FROM hosts)

-- name: hosts_without_front
SELECT h.host, h.id FROM (SELECT DISTINCT host_id FROM queue) queued
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
WHERE w.name = $1 AND c.warc_offset > $2 ORDER BY c.warc_offset LIMIT $3

-- A visit that names a record which no row has, and a stored page that names none.
-- name: unbacked_window
SELECT u.id, u.url, v.warc_file IS NOT NULL
FROM urls u
LEFT JOIN visits v ON v.url_id = u.id
LEFT JOIN LATERAL (
    SELECT url_id FROM captures WHERE warc_file = v.warc_file AND warc_offset = v.warc_offset AND set_aside = 0 OFFSET 0) c ON true
WHERE u.id > $1 AND u.id <= $2 AND c.url_id IS NULL AND (v.warc_file IS NOT NULL OR u.state = 1)

-- name: unknown_window
SELECT v.url_id FROM visits v LEFT JOIN urls u ON u.id = v.url_id
WHERE v.url_id > $1 AND v.url_id <= $2 AND u.id IS NULL

-- A stored page whose document the content-seen test does not know.
-- name: unseen_window
SELECT u.id, u.url FROM urls u JOIN visits v ON v.url_id = u.id
LEFT JOIN contents k ON k.digest = v.digest
WHERE u.id > $1 AND u.id <= $2 AND u.state = 1 AND v.digest IS NOT NULL AND k.digest IS NULL

-- A document that the content-seen test holds to be stored, and is not.
-- name: contents_window
SELECT k.digest, u.url, (k.warc_file IS NOT NULL AND c.url_id IS NULL) OR u.id IS NULL
FROM contents k
LEFT JOIN urls u ON u.id = k.url_id
LEFT JOIN LATERAL (
    SELECT url_id FROM captures WHERE warc_file = k.warc_file AND warc_offset = k.warc_offset AND set_aside = 0 OFFSET 0) c ON true
WHERE k.digest > $1 ORDER BY k.digest LIMIT $2

-- name: last_url_or_visit
SELECT greatest((SELECT coalesce(max(id), 0) FROM urls), (SELECT coalesce(max(url_id), 0) FROM visits))

-- How it is put right.

-- name: states_of
SELECT DISTINCT u.id, u.state FROM unnest($1::bigint[]) AS lost (id) JOIN urls u ON u.id = lost.id

-- name: enter_missing_fronts
INSERT INTO fronts (host_id, front, place)
SELECT host_id, front, min(place) FROM queue WHERE host_id = $1 GROUP BY host_id, front
ON CONFLICT DO NOTHING

-- name: set_counter
WITH others AS (SELECT coalesce(sum(value), 0)::bigint AS value FROM counters WHERE name = $1 AND epoch <> 0)
INSERT INTO counters (name, epoch, value) SELECT $1, 0, $2 - value FROM others
ON CONFLICT (name, epoch) DO UPDATE SET value = excluded.value

-- name: forget_place
UPDATE visits SET warc_file = NULL, warc_offset = NULL, warc_length = NULL WHERE url_id = $1

-- name: forget_visit
DELETE FROM visits WHERE url_id = $1

-- name: forget_contents_of
DELETE FROM contents WHERE url_id = $1

-- name: forget_content
DELETE FROM contents WHERE digest = $1

-- name: learn_content
INSERT INTO contents (digest, url_id, warc_file, warc_offset)
SELECT digest, url_id, warc_file, warc_offset FROM visits WHERE url_id = $1 AND digest IS NOT NULL
ON CONFLICT DO NOTHING

-- name: duplicates_of
SELECT v.url_id FROM visits v WHERE v.duplicate_of = ANY($1::bigint[])

-- name: set_aside
UPDATE captures SET set_aside = 1 WHERE warc_file = (SELECT id FROM warc_files WHERE name = $1) AND warc_offset = $2

-- name: forget_captures_from
DELETE FROM captures WHERE warc_file = (SELECT id FROM warc_files WHERE name = $1) AND warc_offset >= $2

-- name: forget_capture
DELETE FROM captures WHERE warc_file = (SELECT id FROM warc_files WHERE name = $1) AND warc_offset = $2

-- name: urls_named
SELECT u.url, u.id FROM urls u WHERE u.url = ANY($1::text[])

-- name: add_capture
INSERT INTO captures (warc_file, warc_offset, warc_length, url_id, revisit, captured_at, payload_digest, set_aside)
SELECT id, $1, $2, $3, $4::boolean::integer, $5, $6, $7::boolean::integer FROM warc_files WHERE name = $8
ON CONFLICT DO NOTHING

-- name: set_warc_length
UPDATE warc_files SET committed = $1 WHERE name = $2

-- name: hosts_counted_wrong
SELECT count(*) FROM (
    SELECT host_id, count(*), count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1),
        count(*) FILTER (WHERE visits > 0), count(*) FILTER (WHERE state = 6)
    FROM urls GROUP BY host_id
    EXCEPT SELECT host_id, known, queued, stored, answered, excluded FROM host_counts
) wrong
