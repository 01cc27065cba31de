-- Bulk changes of URLs. The statements that read look at a window of URLs at a time.

-- name: url_in_state
SELECT u.reason, u.host_id, /*facts*/ FROM urls u WHERE u.id = $1 AND u.state = $2

-- name: queue_again
WITH moved AS (
    UPDATE urls u SET state = 0, tries = 0, available_at = $1::float8, front = $2::smallint, place = $3::float8,
        priority = $4::float8, reason = NULL
    FROM urls o WHERE o.id = $5 AND u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- What is given another life is worth another request, however its host did before.
-- name: forgive_host
UPDATE hosts SET trouble = NULL WHERE id = $1 AND trouble IS NOT NULL

-- name: give_up
WITH moved AS (
    UPDATE urls u SET state = $1::smallint, available_at = NULL, reason = $2::text FROM urls o WHERE o.id = $3 AND u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- name: excluded
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.id > $1 AND u.id <= $2 AND u.state = 6 AND u.reason = ANY($3::text[]) ORDER BY u.id

-- name: excluded_of_host
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM excluded e JOIN urls u ON u.id = e.url_id JOIN hosts h ON h.id = e.host_id
WHERE e.host_id = $1 AND e.url_id > $2 AND e.url_id <= $3 AND e.reason = ANY($4::text[]) ORDER BY u.id

-- Limits: queued URLs may be excluded, excluded ones may return. A queued recrawl is left to its visit.
-- name: limited
SELECT u.id, u.url, h.host, u.depth, u.sitemap, u.state FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.id > $1 AND u.id <= $2 AND (u.id >> 40)::integer = ANY(/*parts*/) AND ((u.state = 0 AND u.was IS NULL)
    OR (u.state = 6 AND u.reason = ANY($3::text[]))) ORDER BY u.id

-- name: dead_ids
SELECT d.url_id FROM dead d JOIN urls u ON u.id = d.url_id
WHERE d.url_id > $1 AND ($2::bigint IS NULL OR u.host_id = $2) AND ($3::text IS NULL OR d.reason = $3)
    AND ($4::boolean IS NULL OR (coalesce(d.reason, '') = ANY($5::text[])) = $4)
ORDER BY d.url_id LIMIT $6

-- Wider rules: pages with links that were refused for one of some reasons, in a window of URLs.
-- name: refused_pages
SELECT u.id, u.url, h.host, u.host_id, u.domain_id, u.fingerprint, u.depth, u.sitemap, v.at, w.name, v.warc_offset,
    v.warc_length
FROM visits v JOIN urls u ON u.id = v.url_id JOIN hosts h ON h.id = u.host_id JOIN warc_files w ON w.id = v.warc_file
WHERE v.url_id > $1 AND v.url_id <= $2 AND v.warc_offset IS NOT NULL AND v.duplicate_of IS NULL
    AND (v.refused IS NULL OR v.refused & $3 <> 0) ORDER BY v.url_id LIMIT $4

-- name: number_of_refused_pages
SELECT count(*) FROM visits v
WHERE v.url_id > $1 AND v.url_id <= $2 AND v.warc_offset IS NOT NULL AND v.duplicate_of IS NULL
    AND (v.refused IS NULL OR v.refused & $3 <> 0)

-- The hosts of a window of URLs whose robots.txt may name sitemaps, with the depth of their first URL in it.
-- name: naming_hosts
SELECT f.host_id, h.host, f.depth FROM (SELECT DISTINCT ON (host_id) host_id, depth FROM urls WHERE id > $1 AND id <= $2 ORDER BY host_id, id) f JOIN hosts h ON h.id = f.host_id
WHERE EXISTS (SELECT 1 FROM robots r WHERE r.host_id = f.host_id AND strpos(lower(encode(r.body, 'escape')), 'sitemap') > 0)

-- URLs that were excluded, or that redirect to one that was refused, for one of these reasons.
-- name: refused_urls
SELECT u.id, u.url, h.host, u.depth, u.sitemap, u.state, u.reason, v.redirect_to
FROM urls u JOIN hosts h ON h.id = u.host_id LEFT JOIN visits v ON v.url_id = u.id
WHERE u.id > $1 AND u.id <= $2 AND u.state IN (3, 6) AND u.reason = ANY($3::text[]) ORDER BY u.id
