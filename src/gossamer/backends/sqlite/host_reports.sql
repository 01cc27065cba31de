-- Hosts with the counts of their URLs, which the commits keep. Why URLs are excluded is counted for the hosts that are
-- chosen, by the index of excluded URLs.

-- name: hosts
SELECT h.host, d.domain, h.next_contact, h.last_took, h.address, h.rest_reason, h.trouble, b.state,
    coalesce(c.queued, 0), coalesce(c.stored, 0), coalesce(c.answered, 0), coalesce(c.known, 0),
    CASE WHEN c.excluded THEN (
        SELECT json_group_object(because, urls)
        FROM (SELECT coalesce(u.reason, 'unknown') AS because, count(*) AS urls FROM urls u
              WHERE u.state = 6 AND u.host_id = h.id GROUP BY u.reason)) END
FROM (SELECT h.id FROM hosts h LEFT JOIN host_counts c ON c.host_id = h.id WHERE /*where*/
      ORDER BY /*order*/, h.host LIMIT :most OFFSET :offset) chosen
CROSS JOIN hosts h ON h.id = chosen.id CROSS JOIN domains d ON d.id = h.domain_id
LEFT JOIN host_counts c ON c.host_id = h.id LEFT JOIN budgets b ON b.host_id = h.id
ORDER BY /*order*/, h.host

-- name: number
SELECT count(*) FROM hosts WHERE /*where*/
