-- Every statement of the crawl's hot path, by name. Reports have theirs in reports.sql.
-- What stands between two (/*rows*/) is one row of values, repeated as often as there are rows (rows.py).

-- name: host_by_name
SELECT id, domain_id FROM hosts WHERE host = ?

-- name: domain_by_name
SELECT id FROM domains WHERE domain = ?

-- name: add_domain
INSERT INTO domains (domain, partition) VALUES (?, ?)

-- name: add_host
INSERT INTO hosts (host, domain_id) VALUES (?, ?)

-- name: last_url
SELECT coalesce(max(id), 0) FROM urls

-- name: add_url
INSERT OR IGNORE INTO urls
    (host_id, domain_id, fingerprint, url, state, front, available_at, priority, depth, tries, hops, via, found_on,
     found_at)
VALUES (/*rows*/)(?, ?, ?, ?, 0, ?, ?, ?, ?, 0, ?, ?, ?, ?)(/*rows*/)

-- name: new_fronts
SELECT DISTINCT host_id, front FROM urls WHERE id > ?

-- name: enter_front
INSERT INTO fronts (host_id, front, available_at) VALUES (/*rows*/)(?, ?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET available_at = min(available_at, excluded.available_at)

-- name: front_truth
SELECT front, min(available_at) FROM urls WHERE host_id = ? AND state = 0 GROUP BY front

-- name: leave_fronts
DELETE FROM fronts WHERE host_id = ?

-- name: settle_url
WITH new (state, available_at, tries, reason, id) AS (VALUES (/*rows*/)(?, ?, ?, ?, ?)(/*rows*/))
UPDATE urls SET state = new.state, available_at = new.available_at, tries = new.tries, reason = new.reason
FROM new WHERE urls.id = new.id

-- name: due_missing
SELECT id, host_id, front FROM urls WHERE state = 4 AND available_at <= ? LIMIT ?

-- name: ask_again
UPDATE urls SET state = 0, available_at = ? WHERE id = ?

-- name: record_visit
INSERT OR REPLACE INTO visits
    (url_id, at, status, size, took, mime, digest, title, etag, last_modified, duplicate_of, redirect_to,
     warc_file, warc_offset, warc_length)
VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)(/*rows*/)

-- name: record_failure
INSERT INTO failures (url_id, at, reason, status, detail) VALUES (/*rows*/)(?, ?, ?, ?, ?)(/*rows*/)

-- name: own_content
INSERT OR IGNORE INTO contents (digest, url_id) VALUES (/*rows*/)(?, ?)(/*rows*/)

-- name: content_owner
SELECT url_id FROM contents WHERE digest = ?

-- name: set_host_clock
WITH new (next_contact, last_took, address, id) AS (VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/))
UPDATE hosts SET next_contact = new.next_contact, last_took = new.last_took, address = new.address
FROM new WHERE hosts.id = new.id

-- name: rest_host
UPDATE hosts SET next_contact = max(next_contact, ?) WHERE id = ?

-- name: count_accesses
WITH new (accesses, id) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
UPDATE domains SET accesses = domains.accesses + new.accesses FROM new WHERE domains.id = new.id

-- name: save_robots
INSERT OR REPLACE INTO robots (origin, host_id, status, fetched_at, expires_at, body) VALUES (?, ?, ?, ?, ?, ?)

-- name: add_seed
INSERT OR IGNORE INTO seeds (url, written, source, added_at) VALUES (?, ?, ?, ?)

-- name: count
INSERT INTO counters (name, value) VALUES (/*rows*/)(?, ?)(/*rows*/) ON CONFLICT DO UPDATE SET value = value + excluded.value

-- name: commit_warc
INSERT INTO warc_files (id, name, committed) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET committed = excluded.committed

-- name: front_window
SELECT available_at, host_id FROM fronts
WHERE front = ? AND (available_at, host_id) > (?, ?)
ORDER BY available_at, host_id LIMIT ?

-- name: host_record
SELECT h.id, h.host, h.domain_id, d.accesses, h.next_contact, h.last_took, h.address
FROM hosts h JOIN domains d ON d.id = h.domain_id WHERE h.id = ?

-- name: host_robots
SELECT origin, host_id, status, fetched_at, expires_at, body FROM robots WHERE host_id = ?

-- name: host_queue
SELECT id, fingerprint, url, front, available_at, priority, depth, tries, hops FROM urls
WHERE state = 0 AND host_id = ? AND front = ? AND (available_at, id) > (?, ?)
ORDER BY available_at, id LIMIT ?

-- name: resting_addresses
SELECT address, next_contact FROM hosts WHERE next_contact > 0 AND next_contact > ? AND address IS NOT NULL

-- name: fingerprints_after
SELECT id, fingerprint FROM urls WHERE id > ? ORDER BY id LIMIT ?

-- name: digests_after
SELECT digest FROM contents WHERE digest > ? ORDER BY digest LIMIT ?

-- name: counters
SELECT name, value FROM counters

-- name: fact
SELECT value FROM facts WHERE name = ?

-- name: set_fact
INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)

-- name: warc_files
SELECT id, name, committed FROM warc_files ORDER BY id
