-- What people ask about hosts. URLs are counted a range of them at a time, so that no reader keeps the write-ahead log of a
-- running crawl from being folded back.

-- name: last_url
SELECT coalesce(max(id), 0) FROM urls

-- name: counts
SELECT host_id, state, count(*), sum(visits > 0) FROM urls WHERE id > ? AND id <= ? GROUP BY host_id, state

-- name: known
SELECT host_id, count(*) FROM urls WHERE id > ? AND id <= ? GROUP BY host_id

-- name: standings
SELECT id, host, next_contact, away, stored, answered, excluded FROM hosts

-- name: excluded_of
SELECT coalesce(reason, 'unknown'), count(*) FROM urls WHERE state = 6 AND host_id = ? GROUP BY reason

-- name: counts_of
-- By the index of its domain: there is none of all URLs of a host.
SELECT state, reason, count(*), sum(visits > 0) FROM urls
WHERE domain_id = (SELECT domain_id FROM hosts WHERE id = ?1) AND host_id = ?1 GROUP BY state, reason

-- name: excluded
SELECT host_id, reason, count(*) FROM urls WHERE state = 6 GROUP BY host_id, reason

-- name: hosts
SELECT h.id, h.host, d.domain, h.next_contact, h.last_took, h.address, h.rest_reason, h.trouble, b.state
FROM hosts h JOIN domains d ON d.id = h.domain_id LEFT JOIN budgets b ON b.host_id = h.id
WHERE h.id > ? ORDER BY h.id LIMIT ?

-- name: host
SELECT h.id, h.host, d.domain, h.next_contact, h.last_took, h.address, h.rest_reason, h.trouble, b.state
FROM hosts h JOIN domains d ON d.id = h.domain_id LEFT JOIN budgets b ON b.host_id = h.id
WHERE h.id = ?
