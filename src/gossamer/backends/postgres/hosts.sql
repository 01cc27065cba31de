-- Hosts with the counts of their URLs, which the commits keep: first the ids of those that are chosen, in order, then their
-- rows. A name contains the first text and ends with the second, unless they are NULL.

-- name: hosts_by_queued
SELECT h.id FROM hosts h LEFT JOIN host_counts c ON c.host_id = h.id
WHERE ($1::text IS NULL OR strpos(h.host, $1) > 0) AND ($2::text IS NULL OR right(h.host, length($2)) = $2)
ORDER BY -coalesce(c.queued, 0), h.host LIMIT $3::bigint OFFSET $4

-- name: hosts_by_fetched
SELECT h.id FROM hosts h LEFT JOIN host_counts c ON c.host_id = h.id
WHERE ($1::text IS NULL OR strpos(h.host, $1) > 0) AND ($2::text IS NULL OR right(h.host, length($2)) = $2)
ORDER BY -coalesce(c.answered, 0), h.host LIMIT $3::bigint OFFSET $4

-- name: hosts_by_excluded
SELECT h.id FROM hosts h LEFT JOIN host_counts c ON c.host_id = h.id
WHERE ($1::text IS NULL OR strpos(h.host, $1) > 0) AND ($2::text IS NULL OR right(h.host, length($2)) = $2)
ORDER BY -coalesce(c.excluded, 0), h.host LIMIT $3::bigint OFFSET $4

-- name: hosts_by_next
SELECT h.id FROM hosts h
WHERE ($1::text IS NULL OR strpos(h.host, $1) > 0) AND ($2::text IS NULL OR right(h.host, length($2)) = $2)
ORDER BY h.next_contact, h.host LIMIT $3::bigint OFFSET $4

-- By the labels of the name, the last one first.
-- name: hosts_by_host
SELECT h.id FROM hosts h
WHERE ($1::text IS NULL OR strpos(h.host, $1) > 0) AND ($2::text IS NULL OR right(h.host, length($2)) = $2)
ORDER BY (SELECT string_agg(label, '.' ORDER BY n DESC) FROM string_to_table(h.host, '.') WITH ORDINALITY AS l (label, n)) COLLATE "C",
    h.host LIMIT $3::bigint OFFSET $4

-- name: number_of_hosts
SELECT count(*) FROM hosts h
WHERE ($1::text IS NULL OR strpos(h.host, $1) > 0) AND ($2::text IS NULL OR right(h.host, length($2)) = $2)

-- name: host_rows
SELECT h.id, h.host, d.domain, h.next_contact, h.last_took, h.address, h.rest_reason, h.trouble, b.state,
    coalesce(c.queued, 0), coalesce(c.stored, 0), coalesce(c.answered, 0), coalesce(c.known, 0), coalesce(c.excluded, 0)
FROM unnest($1::bigint[]) AS chosen (id)
JOIN hosts h ON h.id = chosen.id JOIN domains d ON d.id = h.domain_id
LEFT JOIN host_counts c ON c.host_id = h.id LEFT JOIN budgets b ON b.host_id = h.id

-- The robots.txt files of these hosts that have a Crawl-delay.
-- name: crawl_delays_of_hosts
SELECT host_id, status, fetched_at, expires_at, body FROM robots
WHERE host_id = ANY($1::bigint[]) AND strpos(lower(encode(body, 'escape')), 'crawl-delay') > 0

-- Why URLs of these hosts are excluded, by the index of excluded URLs.
-- name: exclusions_of_hosts
SELECT host_id, coalesce(nullif(reason, ''), 'unknown'), count(*) FROM excluded
WHERE host_id = ANY($1::bigint[]) GROUP BY host_id, reason
