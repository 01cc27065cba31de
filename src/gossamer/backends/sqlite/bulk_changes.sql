-- Bulk changes of URLs. The statements that read look at a window of URLs at a time.

-- name: url_in_state
SELECT u.reason, u.host_id, /*facts*/ FROM urls u WHERE u.id = ? AND u.state = ?

-- name: queue_again
UPDATE urls SET state = 0, tries = 0, available_at = ?, front = ?, place = ?, priority = ?, reason = NULL WHERE id = ?

-- What is given another life is worth another request, however its host did before.
-- name: forgive_host
UPDATE hosts SET trouble = NULL WHERE id = ? AND trouble IS NOT NULL

-- name: give_up
UPDATE urls SET state = ?, available_at = NULL, reason = ? WHERE id = ?

-- name: excluded
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.id > ? AND u.id <= ? AND u.state = 6 AND u.reason IN (SELECT value FROM json_each(?)) ORDER BY u.id

-- name: excluded_of_host
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.host_id = ? AND u.id > ? AND u.id <= ? AND u.state = 6 AND u.reason IN (SELECT value FROM json_each(?)) ORDER BY u.id

-- Limits: queued URLs may be excluded, excluded ones may return. A queued recrawl is left to its visit.
-- name: limited
SELECT u.id, u.url, h.host, u.depth, u.sitemap, u.state FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.id > ?1 AND u.id <= ?2 AND ((u.state = 0 AND u.was IS NULL)
    OR (u.state = 6 AND u.reason IN (SELECT value FROM json_each(?3)))) ORDER BY u.id

-- name: dead_ids
SELECT id FROM urls WHERE state = 7 AND id > ?1 AND (?2 IS NULL OR host_id = ?2) AND (?3 IS NULL OR reason = ?3)
    AND (?4 IS NULL OR (coalesce(reason, '') IN (SELECT value FROM json_each(?5))) = ?4)
ORDER BY id LIMIT ?6

-- Wider rules: pages with links that were refused for one of some reasons, in a window of URLs.
-- name: refused_pages
SELECT u.id, u.url, h.host, u.host_id, u.domain_id, u.fingerprint, u.depth, u.sitemap, v.at, w.name, v.warc_offset,
    v.warc_length
FROM visits v JOIN urls u ON u.id = v.url_id JOIN hosts h ON h.id = u.host_id JOIN warc_files w ON w.id = v.warc_file
WHERE v.url_id > ?1 AND v.url_id <= ?2 AND v.warc_offset IS NOT NULL AND v.duplicate_of IS NULL
    AND (v.refused IS NULL OR v.refused & ?3) ORDER BY v.url_id LIMIT ?4

-- name: number_of_refused_pages
SELECT count(*) FROM visits v
WHERE v.url_id > ?1 AND v.url_id <= ?2 AND v.warc_offset IS NOT NULL AND v.duplicate_of IS NULL
    AND (v.refused IS NULL OR v.refused & ?3)

-- The hosts of a window of URLs whose robots.txt may name sitemaps, with the depth of their first URL in it.
-- name: naming_hosts
SELECT f.host_id, h.host, f.depth FROM (SELECT host_id, depth, min(id) FROM urls WHERE id > ?1 AND id <= ?2 GROUP BY host_id) f JOIN hosts h ON h.id = f.host_id
WHERE EXISTS (SELECT 1 FROM robots r WHERE r.host_id = f.host_id AND instr(lower(CAST(r.body AS TEXT)), 'sitemap') > 0)

-- URLs that were excluded, or that redirect to one that was refused, for one of these reasons.
-- name: refused_urls
SELECT u.id, u.url, h.host, u.depth, u.sitemap, u.state, u.reason, v.redirect_to
FROM urls u JOIN hosts h ON h.id = u.host_id LEFT JOIN visits v ON v.url_id = u.id
WHERE u.id > ?1 AND u.id <= ?2 AND u.state IN (3, 6) AND u.reason IN (SELECT value FROM json_each(?3)) ORDER BY u.id
