-- What the store knows about one URL. Every statement follows an index or gives up at a limit, but for the one that
-- looks for seeds of a domain: it reads the seeds, some at a time.

-- name: url_by_identity
SELECT /*facts*/, u.host_id, u.found_on, u.state, u.via,
       u.front, u.available_at, u.place, u.priority, u.tries, u.hops, u.found_at, u.reason
FROM domains d JOIN urls u ON u.domain_id = d.id
WHERE d.domain = ? AND u.fingerprint = ?

-- name: listing_fact
SELECT s.url, u.modified, h.changefreq, h.priority, u.sitemap,
       (SELECT group_concat(n.host, ' ') FROM sitemap_names n WHERE n.url_id = u.id)
FROM urls u LEFT JOIN hints h ON h.url_id = u.id LEFT JOIN urls s ON s.id = h.listed_in WHERE u.id = ?

-- name: recrawl_fact
SELECT u.planned, u.memory_one, u.memory_two, h.changing, (SELECT f.value FROM facts f WHERE f.name = 'recrawl')
FROM urls u JOIN hosts h ON h.id = u.host_id WHERE u.id = ?

-- name: step_back
SELECT u.url, u.via, u.depth, u.found_on, s.source, s.added_at
FROM urls u LEFT JOIN seeds s ON s.url = u.url WHERE u.id = ?

-- name: seed_place
SELECT source, added_at FROM seeds WHERE url = ?

-- name: seed_between
SELECT url FROM seeds WHERE url >= ? AND url < ? LIMIT 1

-- name: seeds_naming
SELECT url FROM seeds WHERE url > ? AND instr(url, ?) > 0 ORDER BY url LIMIT ?

-- name: queued_before
SELECT count(*) FROM (
    SELECT 1 FROM urls WHERE state = 0 AND host_id = ? AND front = ? AND (place, id) < (?, ?) LIMIT ?)

-- name: queued_of_class
SELECT count(*) FROM (SELECT 1 FROM urls WHERE state = 0 AND host_id = ? AND front = ? LIMIT ?)

-- name: queued_of_host
SELECT count(*) FROM (SELECT 1 FROM urls WHERE state = 0 AND host_id = ? LIMIT ?)

-- name: visit_fact
SELECT v.at, v.status, v.size, v.took, v.mime, v.digest, v.title, d.url, v.redirect_to,
       w.name, v.warc_offset, v.warc_length,
       v.truncated, coalesce(v.unverified, 0), coalesce(v.replaced, 0), coalesce(v.deep_links, 0),
       n.url, s.distance, v.language, v.canonical
FROM visits v
LEFT JOIN urls d ON d.id = v.duplicate_of
LEFT JOIN signatures s ON s.url_id = v.url_id
LEFT JOIN urls n ON n.id = s.near_duplicate_of
LEFT JOIN warc_files w ON w.id = v.warc_file
WHERE v.url_id = ?

-- name: long_links_of
SELECT shown, digest, size FROM long_links WHERE url_id = ?

-- name: last_failures
SELECT at, reason, status, detail FROM failures WHERE url_id = ? ORDER BY rowid DESC LIMIT ?

-- name: host_fact
SELECT host, next_contact, last_took, address, rest_reason FROM hosts WHERE id = ?

-- name: host_facts
SELECT coalesce(c.known, 0), coalesce(c.answered, 0), h.number
FROM hosts h LEFT JOIN host_counts c ON c.host_id = h.id WHERE h.host = ?

-- name: host_fact_by_name
SELECT host, next_contact, last_took, address, rest_reason FROM hosts WHERE host = ?

-- name: budgets_of
SELECT (SELECT b.state FROM budgets b JOIN hosts h ON h.id = b.host_id WHERE h.host = ?),
    (SELECT b.state FROM domain_budgets b JOIN domains d ON d.id = b.domain_id WHERE d.domain = ?)

-- name: parameters_of
SELECT host, place, name, pairs, contents FROM parameters WHERE host = ? AND refuted_at IS NULL

-- name: domain_fact
SELECT d.accesses, d.links, d.links_from_others, coalesce(s.visits, 0)
FROM domains d LEFT JOIN suffixes s ON s.id = d.suffix_id WHERE d.domain = ?

-- name: visits_of_suffix
SELECT visits FROM suffixes WHERE suffix = ?

-- name: robots_fact
SELECT status, fetched_at, expires_at, body, guessed_at, guess FROM robots WHERE origin = ?

-- One worker owns everything: there are no partitions.
-- name: number_of_partitions
SELECT NULL

-- name: partition_owner
SELECT NULL, NULL WHERE ? IS NULL
