-- What is known of pages, a window of ids at a time, so that no statement takes long, however few pages are wanted. The
-- text that is sought is no pattern.

-- The ids of a window go where /*ids*/ stands.
-- name: pages
SELECT u.id, u.url, h.host, u.state, u.depth, u.found_at, coalesce(f.url, b.page), u.available_at, u.reason, u.links,
       v.at, v.status, v.size, v.mime, v.digest, v.title, v.took, v.etag, v.last_modified, d.url, v.redirect_to,
       w.name, v.warc_offset, v.warc_length, n.url, s.distance, v.language, v.canonical, v.truncated,
       coalesce(v.unverified, 0), coalesce(v.replaced, 0),
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
LEFT JOIN visits v ON v.url_id = u.id
LEFT JOIN urls d ON d.id = v.duplicate_of
LEFT JOIN signatures s ON s.url_id = u.id
LEFT JOIN urls n ON n.id = s.near_duplicate_of
LEFT JOIN urls f ON f.id = u.found_on
LEFT JOIN brought b ON b.url_id = u.id
LEFT JOIN warc_files w ON w.id = v.warc_file
ORDER BY u.id

-- name: ids
SELECT id FROM urls WHERE id > :after AND id <= :upto AND (:host_id IS NULL OR host_id = :host_id)
    AND (:state IS NULL OR state = :state) AND (:text IS NULL OR instr(url, :text) > 0)
ORDER BY id LIMIT :most

-- By the index of its domain: there is none of all URLs of a host.
-- name: ids_of_host
SELECT id FROM urls INDEXED BY urls_identity
WHERE domain_id = (SELECT domain_id FROM hosts WHERE id = :host_id) AND host_id = :host_id AND id > :after AND id <= :upto
    AND (:state IS NULL OR state = :state) AND (:text IS NULL OR instr(url, :text) > 0)
ORDER BY id LIMIT :most
