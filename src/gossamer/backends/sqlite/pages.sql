-- Known pages and dead letters: first the ids of a window, so that no statement takes long, however few rows are wanted,
-- then their rows. The text that is sought is no pattern.

-- name: page_rows
SELECT u.id, u.url, h.host, u.state, u.depth, u.via, u.found_at, f.url, u.available_at, u.reason, u.links,
       v.at, v.status, v.size, v.mime, v.digest, v.title, v.took, v.etag, v.last_modified, d.url, v.redirect_to,
       w.name, v.warc_offset, v.warc_length, n.url, s.distance, v.language, v.canonical, v.truncated,
       coalesce(v.unverified, 0), coalesce(v.replaced, 0),
       /*facts*/, coalesce(k.known, 0), coalesce(k.answered, 0), h.number, m.accesses, m.links, m.links_from_others,
       coalesce(x.visits, 0)
FROM json_each(?) wanted
CROSS JOIN urls u ON u.id = wanted.value
CROSS JOIN hosts h ON h.id = u.host_id
CROSS JOIN domains m ON m.id = u.domain_id
LEFT JOIN host_counts k ON k.host_id = u.host_id
LEFT JOIN suffixes x ON x.id = m.suffix_id
LEFT JOIN visits v ON v.url_id = u.id
LEFT JOIN urls d ON d.id = v.duplicate_of
LEFT JOIN signatures s ON s.url_id = u.id
LEFT JOIN urls n ON n.id = s.near_duplicate_of
LEFT JOIN urls f ON f.id = u.found_on
LEFT JOIN warc_files w ON w.id = v.warc_file
ORDER BY u.id

-- name: page_ids
SELECT id FROM urls WHERE id > ?1 AND id <= ?2 AND (?3 IS NULL OR host_id = ?3)
    AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR instr(url, ?5) > 0)
ORDER BY id LIMIT ?6

-- By the index of its domain: there is none of all URLs of a host.
-- name: page_ids_of_host
SELECT id FROM urls INDEXED BY urls_identity
WHERE domain_id = (SELECT domain_id FROM hosts WHERE id = ?3) AND host_id = ?3 AND id > ?1 AND id <= ?2
    AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR instr(url, ?5) > 0)
ORDER BY id LIMIT ?6

-- name: dead_letter_rows
SELECT u.id, u.url, h.host, u.reason, u.tries, u.depth, u.found_at,
       (SELECT f.at     FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.status FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       (SELECT f.detail FROM failures f WHERE f.url_id = u.id ORDER BY f.at DESC LIMIT 1),
       p.url,
       /*facts*/, coalesce(k.known, 0), coalesce(k.answered, 0), h.number, m.accesses, m.links, m.links_from_others,
       coalesce(x.visits, 0)
FROM json_each(?) wanted
CROSS JOIN urls u ON u.id = wanted.value
CROSS JOIN hosts h ON h.id = u.host_id
CROSS JOIN domains m ON m.id = u.domain_id
LEFT JOIN host_counts k ON k.host_id = u.host_id
LEFT JOIN suffixes x ON x.id = m.suffix_id
LEFT JOIN urls p ON p.id = u.found_on
ORDER BY u.id

-- name: dead_ids_of
SELECT id FROM urls WHERE state = 7 AND url IN (SELECT value FROM json_each(?))
