-- Dead letters, a window at a time.

-- name: ids
SELECT id FROM urls WHERE state = 7 AND id > :after
    AND (:host_id IS NULL OR host_id = :host_id) AND (:reason IS NULL OR reason = :reason)
ORDER BY id LIMIT :most

-- The ids of a window go where /*ids*/ stands.
-- name: letters
SELECT u.id, u.url, h.host, u.reason, u.tries, u.depth, u.found_at,
       (SELECT f.at     FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.status FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.detail FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       coalesce(p.url, b.page),
       /*facts*/, coalesce(k.known, 0), coalesce(k.answered, 0), h.number, m.accesses, m.links, m.links_from_others,
       coalesce(x.visits, 0)
FROM (
    /*ids*/
) wanted
CROSS JOIN urls u ON u.id = wanted.id
CROSS JOIN hosts h ON h.id = u.host_id
CROSS JOIN domains m ON m.id = u.domain_id
LEFT JOIN host_counts k ON k.host_id = u.host_id
LEFT JOIN suffixes x ON x.id = m.suffix_id
LEFT JOIN urls p ON p.id = u.found_on
LEFT JOIN brought b ON b.url_id = u.id
ORDER BY u.id

-- name: ids_of_urls
SELECT id FROM urls WHERE state = 7 AND url IN (SELECT value FROM json_each(?))
