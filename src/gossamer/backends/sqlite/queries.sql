-- Every statement of the crawl's hot path, by name. Reports have theirs in reports.sql.
-- What is between two (/*rows*/) is one row of values, repeated for each row (`write_rows`, `read_rows`). Statements that
-- read for many rows return one list in JSON; CROSS JOIN keeps them from scanning a table for the rows.
-- OR ROLLBACK where many rows change: a failed statement ends its transaction anyway, so SQLite need not copy every page
-- that it changes to be able to undo the statement alone, which is half of the work.

-- name: host_by_name
SELECT id, domain_id FROM hosts WHERE host = ?

-- name: domain_by_name
SELECT id FROM domains WHERE domain = ?

-- name: add_domain
INSERT OR ROLLBACK INTO domains (domain, partition, suffix_id) VALUES (/*rows*/)(?, ?, ?)(/*rows*/)

-- name: suffix_by_name
SELECT id FROM suffixes WHERE suffix = ?

-- name: add_suffix
INSERT INTO suffixes (suffix) VALUES (?)

-- name: suffix_visits
SELECT id, visits FROM suffixes

-- Each with the number of hosts of its domain that are in rows before it.
-- name: add_host
WITH new (host, ahead, domain_id) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
INSERT OR ROLLBACK INTO hosts (host, domain_id, number)
SELECT new.host, d.id, d.hosts + new.ahead FROM new CROSS JOIN domains d ON d.id = new.domain_id

-- name: count_host
WITH new (hosts, id) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
UPDATE OR ROLLBACK domains SET hosts = domains.hosts + new.hosts FROM new WHERE domains.id = new.id

-- name: last_url
SELECT coalesce(max(id), 0) FROM urls

-- name: last_url_between
SELECT max(id) FROM urls WHERE id > ? AND id < ?

-- The end of a window of some URLs after an id. Ids have no gaps here.
-- name: window_end
SELECT ?1 + ?2

-- name: add_url
INSERT OR IGNORE INTO urls
    (id, host_id, domain_id, fingerprint, url, state, front, available_at, place, priority, depth, tries, hops, via,
     found_on, found_at, sitemap, modified, steps, ordinal)
VALUES (/*rows*/)(?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)(/*rows*/)

-- name: newest_place
SELECT coalesce(max(place), 0) FROM fronts WHERE front >= ? AND place <= ?

-- name: enter_front
INSERT OR ROLLBACK INTO fronts (host_id, front, place) VALUES (/*rows*/)(?, ?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET place = min(place, excluded.place)

-- name: front_truth
SELECT front, min(place) FROM urls WHERE host_id = ? AND state = 0 GROUP BY front

-- name: leave_fronts
DELETE FROM fronts WHERE host_id IN (VALUES (/*rows*/)(?)(/*rows*/))

-- name: settle_url
WITH new (state, available_at, front, place, tries, reason, answered, digest, planned, one, two, last_modified, id) AS
    (VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET state = new.state, available_at = new.available_at, front = coalesce(new.front, urls.front),
    place = coalesce(new.place, urls.place), tries = new.tries, reason = new.reason,
    memory_one = coalesce(new.one, urls.memory_one), memory_two = coalesce(new.two, urls.memory_two),
    was = CASE WHEN new.state = 0 THEN urls.was END, planned = CASE WHEN new.state = 0 THEN urls.planned ELSE new.planned END,
    visits = urls.visits + new.answered, last_modified = coalesce(new.last_modified, urls.last_modified),
    changes = urls.changes + CASE WHEN new.digest IS NULL OR urls.visits = 0 THEN 0 ELSE
        coalesce((SELECT v.digest <> new.digest FROM visits v WHERE v.url_id = urls.id), 0) END
FROM new WHERE urls.id = new.id

-- New URLs of hosts.
-- name: count_new
INSERT INTO host_counts (host_id, known, queued, stored, answered, excluded)
VALUES (/*rows*/)(?, ?, ?, 0, 0, 0)(/*rows*/)
ON CONFLICT DO UPDATE SET known = known + excluded.known, queued = queued + excluded.queued

-- name: host_counts_of
WITH new (host_id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(c.host_id, c.known, c.answered)) FROM new CROSS JOIN host_counts c ON c.host_id = new.host_id

-- URLs that are about to go to other states.
-- name: count_moves
WITH new (state, answered, id) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
INSERT INTO host_counts (host_id, known, queued, stored, answered, excluded)
SELECT u.host_id, 0, (new.state = 0) - (u.state = 0), (new.state = 1) - (u.state = 1), new.answered AND u.visits = 0,
    (new.state = 6) - (u.state = 6)
FROM new CROSS JOIN urls u ON u.id = new.id WHERE true
ON CONFLICT DO UPDATE SET queued = host_counts.queued + excluded.queued, stored = host_counts.stored + excluded.stored,
    answered = host_counts.answered + excluded.answered, excluded = host_counts.excluded + excluded.excluded

-- name: count_hosts
INSERT OR REPLACE INTO host_counts (host_id, known, queued, stored, answered, excluded)
SELECT host_id, count(*), sum(state = 0), sum(state = 1), sum(visits > 0), sum(state = 6) FROM urls GROUP BY host_id

-- name: fronts_of
WITH new (id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(u.id, u.front)) FROM new CROSS JOIN urls u ON u.id = new.id

-- name: due_missing
SELECT /*facts*/, u.host_id, u.state, u.available_at
FROM urls u WHERE state = 4 AND available_at <= ? ORDER BY available_at LIMIT ?

-- name: forget_memories
UPDATE urls SET memory_one = NULL, memory_two = NULL WHERE memory_one IS NOT NULL OR memory_two IS NOT NULL

-- name: due_again
SELECT /*facts*/, u.host_id, u.state, u.available_at
FROM urls u WHERE state IN (1, 2, 3, 5) AND available_at <= ? ORDER BY available_at LIMIT ?

-- name: due_after
SELECT /*facts*/, u.host_id, u.state, u.available_at
FROM urls u WHERE state IN (1, 2, 3, 5) AND (available_at, state, id) > (?, ?, ?) AND available_at <= ?
ORDER BY available_at, state, id LIMIT ?

-- name: due_early
SELECT /*facts*/, u.host_id, u.state, u.available_at, planned
FROM urls u WHERE state IN (1, 2, 3, 5) AND available_at > ? ORDER BY available_at LIMIT ?

-- What decides whether a URL is put off.
-- name: due_there
WITH new (id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(u.id, u.host_id, h.host, u.url, u.state, v.mime, v.at, u.planned, u.memory_one,
    u.memory_two, u.modified, n.changefreq, u.sitemap, h.changing))
FROM new CROSS JOIN urls u ON u.id = new.id CROSS JOIN hosts h ON h.id = u.host_id
    LEFT JOIN visits v ON v.url_id = u.id LEFT JOIN hints n ON n.url_id = u.id

-- name: postpone
WITH new (available_at, planned, id) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET available_at = new.available_at, planned = coalesce(new.planned, urls.planned)
FROM new WHERE urls.id = new.id

-- name: next_again
SELECT min(available_at) FROM urls WHERE state IN (1, 2, 3, 5) AND available_at IS NOT NULL

-- name: next_missing
SELECT min(available_at) FROM urls WHERE state = 4

-- name: ask_again
WITH new (front, place, available_at, priority, id) AS (VALUES (/*rows*/)(?, ?, ?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET was = urls.state, state = 0, front = new.front, place = new.place,
    available_at = new.available_at, priority = new.priority
FROM new WHERE urls.id = new.id

-- What is compared with the next visit.
-- name: before
SELECT u.id, u.visits, u.changes, coalesce(u.was, u.state), u.reason, v.at, v.digest, v.mime, v.etag, v.last_modified,
    v.redirect_to, v.truncated IS NULL, s.signature, u.planned, u.memory_one,
    u.memory_two
FROM json_each(?) wanted CROSS JOIN urls u ON u.id = wanted.value JOIN visits v ON v.url_id = u.id
LEFT JOIN signatures s ON s.url_id = u.id

-- Nothing has changed: what is on record stays.
-- name: keep_visit
WITH new (at, took, etag, last_modified, url_id) AS (VALUES (/*rows*/)(?, ?, ?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK visits SET at = new.at, took = new.took, etag = coalesce(new.etag, visits.etag),
    last_modified = coalesce(new.last_modified, visits.last_modified)
FROM new WHERE visits.url_id = new.url_id

-- A try that brought nothing: what is on record of a document stays.
-- name: record_try
INSERT INTO visits
    (url_id, at, status, size, took, mime, digest, title, etag, last_modified, duplicate_of, redirect_to,
     truncated, unverified, replaced, deep_links, language, canonical, refused, warc_file, warc_offset, warc_length)
VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET at = excluded.at, status = excluded.status, size = excluded.size, took = excluded.took,
    mime = excluded.mime, redirect_to = excluded.redirect_to, unverified = excluded.unverified
WHERE visits.digest IS NULL

-- name: save_changing
WITH new (changing, id) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
UPDATE OR ROLLBACK hosts SET changing = new.changing FROM new WHERE hosts.id = new.id

-- name: links_of
WITH new (id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(l.url_id, hex(l.targets))) FROM new CROSS JOIN links l ON l.url_id = new.id

-- name: save_links
INSERT OR ROLLBACK INTO links (url_id, targets) VALUES (/*rows*/)(?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET targets = excluded.targets

-- name: put_off
WITH new (part, targets, pages) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
INSERT INTO uncounted (targets, pages) SELECT targets, pages FROM new

-- name: uncounted_targets
SELECT coalesce(sum(targets), 0) FROM uncounted

-- name: any_uncounted
SELECT 1 FROM uncounted LIMIT 1

-- name: uncounted_pages
SELECT pages FROM uncounted ORDER BY id

-- name: all_counted
DELETE FROM uncounted

-- Pages whose links are counted, or on which URLs were found.
-- name: sources_of
WITH new (id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(u.id, u.fingerprint, u.host_id, u.domain_id, u.steps, u.credit))
FROM new CROSS JOIN urls u ON u.id = new.id

-- The steps are the least that links from one host give, as far as that is the target's own: a link from any other enters
-- the host. They stay when the page has been visited, so that what is found on it does not depend on later links.
-- name: count_links
WITH new (domain_id, fingerprint, links, links_from_others, credit, link_sum, host_id, steps) AS
    (VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET links = urls.links + new.links, links_from_others = urls.links_from_others + new.links_from_others,
    credit = urls.credit + new.credit, link_sum = urls.link_sum + new.link_sum,
    steps = CASE WHEN new.links = 0 OR urls.visits > 0 THEN urls.steps
        WHEN urls.host_id = new.host_id THEN min(urls.steps, new.steps) ELSE 0 END
FROM new WHERE urls.domain_id = new.domain_id AND urls.fingerprint = new.fingerprint

-- name: count_domain_links
WITH new (id, links, links_from_others) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK domains SET links = domains.links + new.links, links_from_others = domains.links_from_others + new.links_from_others
FROM new WHERE domains.id = new.id

-- name: waiting_of
WITH new (domain_id, fingerprint) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
SELECT json_group_array(json_array(/*facts*/, u.host_id, u.front, CAST(u.place AS INTEGER), CAST(u.priority AS INTEGER)))
FROM new CROSS JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint
WHERE u.state = 0 AND u.front >= ? AND u.place <= ?

-- Those whose links have reached a power of two: one lies between the counts before and after if more bits differ between
-- them than the one before has. A first link was foreseen when the URL entered.
-- name: grown_of
WITH new (domain_id, fingerprint, links) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
SELECT json_group_array(json_array(/*facts*/, u.host_id, u.front))
FROM new CROSS JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint
WHERE u.state = 0 AND u.links > 1 AND u.front > 0 AND u.place <= ?
    AND (u.links | (u.links - new.links)) - (u.links & (u.links - new.links)) > u.links - new.links

-- name: place_of
SELECT place FROM urls WHERE id = ?

-- name: move_url
WITH new (front, place, priority, id) AS (VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET front = new.front, place = new.place, priority = new.priority FROM new WHERE urls.id = new.id

-- name: join_front
WITH new (front, place, priority, id) AS (VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET front = new.front, place = new.place, available_at = new.place, priority = new.priority
FROM new WHERE urls.id = new.id

-- name: queued_after
SELECT /*facts*/, u.front, u.place, u.priority, u.available_at
FROM urls u NOT INDEXED WHERE id > ? AND state = 0 ORDER BY id LIMIT ?

-- name: hosts_of
WITH new (id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(u.id, u.host_id)) FROM new CROSS JOIN urls u ON u.id = new.id

-- name: without_row
WITH new (id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(new.id)) FROM new WHERE NOT EXISTS (SELECT 1 FROM urls u WHERE u.id = new.id)

-- name: count_queued
SELECT count(*) FROM urls WHERE state = 0

-- name: clear_fronts
DELETE FROM fronts

-- name: rebuild_fronts
INSERT INTO fronts (host_id, front, place)
SELECT host_id, front, min(place) FROM urls WHERE state = 0 GROUP BY host_id, front

-- name: record_visit
INSERT OR REPLACE INTO visits
    (url_id, at, status, size, took, mime, digest, title, etag, last_modified, duplicate_of, redirect_to,
     truncated, unverified, replaced, deep_links, language, canonical, refused, warc_file, warc_offset, warc_length)
VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)(/*rows*/)

-- Of a page that was read again; nothing if it was visited meanwhile.
-- name: save_refused
WITH new (refused, url_id, warc_offset) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK visits SET refused = new.refused
FROM new WHERE visits.url_id = new.url_id AND visits.warc_offset = new.warc_offset

-- name: record_long_link
INSERT OR IGNORE INTO long_links (url_id, shown, digest, size) VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- name: record_failure
INSERT INTO failures (url_id, at, reason, status, detail) VALUES (/*rows*/)(?, ?, ?, ?, ?)(/*rows*/)

-- name: record_capture
INSERT OR ROLLBACK INTO captures (warc_file, warc_offset, warc_length, url_id, revisit, captured_at, payload_digest)
VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?)(/*rows*/)

-- name: own_content
INSERT OR IGNORE INTO contents (digest, url_id, warc_file, warc_offset) VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- name: original_of_content
SELECT u.url, c.captured_at, c.payload_digest
FROM contents k
JOIN captures c ON c.warc_file = k.warc_file AND c.warc_offset = k.warc_offset
JOIN urls u ON u.id = c.url_id
WHERE k.digest = ? AND c.revisit = 0 AND c.captured_at IS NOT NULL

-- A page that was last captured whole is its own original; one that was a duplicate has its content's.
-- name: original_of_url
SELECT u.url, c.captured_at, c.payload_digest
FROM visits v
LEFT JOIN captures own ON own.warc_file = v.warc_file AND own.warc_offset = v.warc_offset AND own.revisit = 0
LEFT JOIN contents k ON k.digest = v.digest
JOIN captures c ON c.warc_file = coalesce(own.warc_file, k.warc_file)
    AND c.warc_offset = coalesce(own.warc_offset, k.warc_offset)
JOIN urls u ON u.id = c.url_id
WHERE v.url_id = ? AND c.revisit = 0 AND c.captured_at IS NOT NULL

-- name: content_owner
SELECT url_id FROM contents WHERE digest = ?

-- name: set_host_clock
WITH new (next_contact, last_took, address, rest_reason, resolved, trouble, id) AS
    (VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK hosts SET next_contact = new.next_contact, last_took = new.last_took, address = new.address,
    rest_reason = new.rest_reason, resolved = coalesce(new.resolved, hosts.resolved),
    trouble = nullif(coalesce(new.trouble, hosts.trouble), '')
FROM new WHERE hosts.id = new.id

-- name: rest_host
WITH new (until, id) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
UPDATE OR ROLLBACK hosts SET
    rest_reason = CASE WHEN new.until > next_contact THEN 'failures, or rules out of reach' ELSE rest_reason END,
    next_contact = max(next_contact, new.until)
FROM new WHERE hosts.id = new.id

-- name: count_accesses
WITH new (accesses, id) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
UPDATE OR ROLLBACK domains SET accesses = domains.accesses + new.accesses FROM new WHERE domains.id = new.id

-- A suffix of a domain has its row: nothing is inserted, and the text is one that no suffix has.
-- name: count_suffix_visits
WITH new (visits, id) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
INSERT OR ROLLBACK INTO suffixes (id, suffix, visits)
SELECT d.suffix_id, '#' || d.suffix_id, new.visits FROM new CROSS JOIN domains d ON d.id = new.id WHERE d.suffix_id > 0
ON CONFLICT (id) DO UPDATE SET visits = suffixes.visits + excluded.visits

-- name: save_robots
INSERT INTO robots (origin, host_id, status, fetched_at, expires_at, body, unreachable_since)
VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at, unreachable_since = excluded.unreachable_since,
    status = CASE WHEN excluded.unreachable_since IS NULL THEN excluded.status ELSE robots.status END,
    fetched_at = CASE WHEN excluded.unreachable_since IS NULL THEN excluded.fetched_at ELSE robots.fetched_at END,
    body = CASE WHEN excluded.unreachable_since IS NULL THEN excluded.body ELSE robots.body END

-- name: save_guess
WITH new (guessed_at, guess, origin) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
UPDATE robots SET guessed_at = new.guessed_at, guess = new.guess FROM new WHERE robots.origin = new.origin

-- name: save_budget
INSERT OR ROLLBACK INTO budgets (host_id, state) VALUES (/*rows*/)(?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET state = excluded.state

-- name: save_domain_budget
INSERT OR ROLLBACK INTO domain_budgets (domain_id, state) VALUES (/*rows*/)(?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET state = excluded.state

-- name: save_soft_missing
INSERT OR ROLLBACK INTO soft_missing (host_id, state) VALUES (/*rows*/)(?, ?)(/*rows*/)
ON CONFLICT DO UPDATE SET state = excluded.state

-- name: learn_parameter
INSERT INTO parameters (host, place, name, pairs, contents, learnt_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET pairs = excluded.pairs, contents = excluded.contents, learnt_at = excluded.learnt_at, refuted_at = NULL

-- name: refute_parameter
UPDATE parameters SET refuted_at = ? WHERE host = ? AND place = ? AND name = ?

-- name: parameters
SELECT host, place, name, pairs, contents, refuted_at IS NOT NULL FROM parameters

-- name: add_seed
INSERT OR IGNORE INTO seeds (url, written, source, added_at) VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- name: seeds
SELECT url FROM seeds

-- name: count
INSERT OR ROLLBACK INTO counters (name, value) VALUES (/*rows*/)(?, ?)(/*rows*/) ON CONFLICT DO UPDATE SET value = value + excluded.value

-- name: add_warc
INSERT INTO warc_files (name, committed) VALUES (?, 0)

-- name: commit_warc
UPDATE warc_files SET committed = ?2 WHERE id = ?1

-- name: front_window
SELECT place, host_id FROM fronts
WHERE front = ? AND (place, host_id) > (?, ?)
ORDER BY place, host_id LIMIT ?

-- name: host_record
SELECT h.id, h.host, h.domain_id, d.accesses, d.links, d.links_from_others, coalesce(c.known, 0), coalesce(c.answered, 0),
    h.number, d.suffix_id, h.next_contact, h.last_took, h.address, h.resolved, h.trouble, b.state, db.state, h.changing, m.state
FROM hosts h JOIN domains d ON d.id = h.domain_id LEFT JOIN host_counts c ON c.host_id = h.id
LEFT JOIN budgets b ON b.host_id = h.id LEFT JOIN domain_budgets db ON db.domain_id = h.domain_id
LEFT JOIN soft_missing m ON m.host_id = h.id
WHERE h.id = ?

-- name: host_name
SELECT host FROM hosts WHERE id = ?

-- name: host_clock
SELECT next_contact FROM hosts WHERE id = ?

-- name: host_robots
SELECT origin, host_id, status, fetched_at, expires_at, body, unreachable_since, guessed_at FROM robots WHERE host_id = ?

-- name: host_queue
SELECT id, fingerprint, url, front, place, priority, depth, tries, hops, sitemap, nullif(visits, 0), modified,
    (SELECT changefreq FROM hints WHERE url_id = urls.id)
FROM urls WHERE state = 0 AND host_id = ? AND front = ? AND (place, id) > (?, ?)
ORDER BY place, id LIMIT ?

-- name: redirects_to
WITH RECURSIVE chain (id, steps) AS (
    SELECT found_on, 1 FROM urls WHERE id = ?1 AND via = 2
    UNION ALL
    SELECT u.found_on, chain.steps + 1 FROM chain JOIN urls u ON u.id = chain.id WHERE u.via = 2 AND chain.steps < ?2)
SELECT u.fingerprint FROM chain JOIN urls u ON u.id = chain.id ORDER BY chain.steps

-- name: resting_addresses
SELECT address, next_contact FROM hosts WHERE next_contact > 0 AND next_contact > ? AND address IS NOT NULL

-- name: resting_hosts_with_reasons
SELECT host, next_contact, rest_reason FROM hosts WHERE next_contact > 0 AND next_contact > ?

-- name: fingerprints_after
SELECT id, fingerprint FROM urls WHERE id > ? ORDER BY id LIMIT ?

-- name: digests_after
SELECT digest FROM contents WHERE digest > ? ORDER BY digest LIMIT ?

-- name: save_signature
INSERT OR REPLACE INTO signatures (url_id, signature, near_duplicate_of, distance)
VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- name: delete_signature
DELETE FROM signatures WHERE url_id IN (VALUES (/*rows*/)(?)(/*rows*/))

-- The signature just before the latest N originals.
-- name: before_originals
SELECT coalesce(
    (SELECT seq FROM signatures WHERE near_duplicate_of IS NULL ORDER BY seq DESC LIMIT 1 OFFSET ?), 0
)

-- name: originals_after
SELECT seq, url_id, signature FROM signatures WHERE seq > ? AND near_duplicate_of IS NULL ORDER BY seq LIMIT ?

-- name: counters
SELECT name, value FROM counters

-- name: counter
SELECT coalesce(max(value), 0) FROM counters WHERE name = ?

-- name: fact
SELECT value FROM facts WHERE name = ?

-- name: worker_facts
SELECT value FROM facts WHERE name = ?1 OR name LIKE ?1 || '@%'

-- name: forget_fact
DELETE FROM facts WHERE name = ?

-- name: add_fact
INSERT OR IGNORE INTO facts (name, value) VALUES (/*rows*/)(?, ?)(/*rows*/)

-- name: set_fact
INSERT OR REPLACE INTO facts (name, value) VALUES (/*rows*/)(?, ?)(/*rows*/)

-- name: warc_files
SELECT id, name, committed FROM warc_files ORDER BY id

-- name: warc_id
SELECT id FROM warc_files WHERE name = ?

-- name: spooled_warcs
SELECT name FROM spooled_warcs ORDER BY name

-- name: note_spooled
INSERT OR REPLACE INTO spooled_warcs (name) VALUES (/*rows*/)(?)(/*rows*/)

-- name: note_stored
WITH old (name) AS (VALUES (/*rows*/)(?)(/*rows*/))
DELETE FROM spooled_warcs WHERE name IN (SELECT name FROM old)

-- name: has_warcs
SELECT EXISTS (SELECT 1 FROM warc_files)

-- name: save_hints
WITH new (domain_id, fingerprint, listed_in, changefreq, priority) AS (VALUES (/*rows*/)(?, ?, ?, ?, ?)(/*rows*/))
INSERT OR REPLACE INTO hints (url_id, listed_in, changefreq, priority)
SELECT u.id, new.listed_in, new.changefreq, new.priority
FROM new CROSS JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint

-- name: save_modified
WITH new (domain_id, fingerprint, modified) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET modified = new.modified
FROM new WHERE urls.domain_id = new.domain_id AND urls.fingerprint = new.fingerprint
    AND urls.modified IS NOT new.modified

-- Pages that we have, and of which a list now says that they were modified after our visit.
-- name: reported
WITH new (domain_id, fingerprint, modified, believed) AS (VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/))
SELECT json_group_array(json_array(u.available_at, u.id, u.host_id, h.host, u.url, v.mime, v.at, new.modified, u.memory_one,
    u.memory_two, u.priority, CASE WHEN new.believed IS NULL THEN coalesce(h.changing, '') END))
FROM new CROSS JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint
    CROSS JOIN visits v ON v.url_id = u.id CROSS JOIN hosts h ON h.id = u.host_id
WHERE u.state IN (1, 2) AND u.available_at > ? AND v.at < new.modified

-- name: bring_forward
WITH new (available_at, id) AS (VALUES (/*rows*/)(?, ?)(/*rows*/))
UPDATE OR ROLLBACK urls SET available_at = new.available_at FROM new WHERE urls.id = new.id

-- name: name_sitemaps
WITH new (domain_id, fingerprint, host) AS (VALUES (/*rows*/)(?, ?, ?)(/*rows*/))
INSERT OR IGNORE INTO sitemap_names (url_id, host)
SELECT u.id, new.host FROM new CROSS JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint

-- name: save_sitemaps
INSERT OR REPLACE INTO sitemaps (url_id, host_id, kind, entries, dropped) VALUES (/*rows*/)(?, ?, ?, ?, ?)(/*rows*/)

-- name: sitemap_names
SELECT host FROM sitemap_names WHERE url_id = ? LIMIT ?

-- name: sitemap_counts
SELECT (SELECT coalesce(sum(entries), 0) FROM sitemaps WHERE host_id = ?1 AND kind <> 'sitemapindex' AND url_id <> ?2),
    (SELECT count(*) FROM urls WHERE host_id = ?1 AND sitemap > 0)
