-- What the store knows about one URL. Every statement follows an index or gives up at a limit, but for the one that
-- looks for seeds of a domain: it reads the seeds, some at a time.

-- name: url_by_identity
SELECT /*facts*/, u.host_id, u.found_on, u.state, u.via,
       u.front, u.available_at, u.place, u.priority, u.tries, u.hops, u.found_at, u.reason
FROM domains d JOIN urls u ON u.domain_id = d.id
WHERE d.domain = $1 AND u.fingerprint = $2

-- name: listing_fact
SELECT s.url, u.modified, h.changefreq, h.priority, u.sitemap,
       (SELECT string_agg(n.host, ' ' ORDER BY n.host) FROM sitemap_names n WHERE n.url_id = u.id)
FROM urls u LEFT JOIN hints h ON h.url_id = u.id LEFT JOIN urls s ON s.id = h.listed_in WHERE u.id = $1

-- name: recrawl_fact
SELECT u.planned, u.memory_one, u.memory_two, h.changing, (SELECT f.value FROM facts f WHERE f.name = 'recrawl')
FROM urls u JOIN hosts h ON h.id = u.host_id WHERE u.id = $1

-- name: step_back
SELECT u.url, u.via, u.depth, u.found_on, s.source, s.added_at
FROM urls u LEFT JOIN seeds s ON md5(s.url) = md5(u.url) AND s.url = u.url WHERE u.id = $1

-- name: seed_place
SELECT source, added_at FROM seeds WHERE md5(url) = md5($1) AND url = $1

-- name: seed_between
SELECT url FROM seeds WHERE left(url, 1000) COLLATE "C" >= $1 AND left(url, 1000) COLLATE "C" < $2 LIMIT 1

-- name: seeds_naming
SELECT url FROM seeds WHERE left(url, 1000) COLLATE "C" >= left($1, 1000) AND url > $1 AND strpos(url, $2) > 0
ORDER BY left(url, 1000) COLLATE "C", url LIMIT $3

-- name: queued_before
SELECT count(*) FROM (
    SELECT 1 FROM queue WHERE host_id = $1 AND front = $2 AND (place, url_id) < ($3::float8, $4::bigint) LIMIT $5) q

-- name: queued_of_class
SELECT count(*) FROM (SELECT 1 FROM queue WHERE host_id = $1 AND front = $2 LIMIT $3) q

-- name: queued_of_host
SELECT count(*) FROM (SELECT 1 FROM queue WHERE host_id = $1 LIMIT $2) q

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
WHERE v.url_id = $1

-- name: long_links_of
SELECT shown, digest, size FROM long_links WHERE url_id = $1

-- name: last_failures
SELECT at, reason, status, detail FROM failures WHERE url_id = $1 ORDER BY id DESC LIMIT $2

-- name: host_fact
SELECT host, next_contact, last_took, address, rest_reason FROM hosts WHERE id = $1

-- name: host_facts
SELECT coalesce(c.known, 0), coalesce(c.answered, 0), h.number
FROM hosts h LEFT JOIN host_counts c ON c.host_id = h.id WHERE h.host = $1

-- name: host_fact_by_name
SELECT host, next_contact, last_took, address, rest_reason FROM hosts WHERE host = $1

-- name: budgets_of
SELECT (SELECT b.state FROM budgets b JOIN hosts h ON h.id = b.host_id WHERE h.host = $1),
    (SELECT b.state FROM domain_budgets b JOIN domains d ON d.id = b.domain_id WHERE d.domain = $2)

-- name: parameters_of
SELECT host, place, name, pairs, contents FROM parameters WHERE host = $1 AND refuted_at IS NULL

-- name: domain_fact
SELECT d.accesses, d.links, d.links_from_others,
    coalesce((SELECT sum(visits) FROM suffix_visits s WHERE s.suffix_id = d.suffix_id), 0)::bigint
FROM domains d WHERE d.domain = $1

-- name: visits_of_suffix
SELECT sum(v.visits)::bigint FROM suffixes s JOIN suffix_visits v ON v.suffix_id = s.id WHERE s.suffix = $1
HAVING count(*) > 0

-- name: robots_fact
SELECT status, fetched_at, expires_at, body, guessed_at, guess FROM robots WHERE origin = $1

-- name: number_of_partitions
SELECT partitions FROM crawl

-- name: partition_owner
SELECT p.part, w.name FROM partitions p LEFT JOIN workers w ON w.epoch = p.epoch WHERE p.part = $1
