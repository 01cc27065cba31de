-- What is read a window at a time. The text that is sought is no pattern.

-- name: last_id
SELECT coalesce(max(id), 0) FROM urls

-- name: page_ids
SELECT id FROM urls WHERE id > :after AND id <= :upto
    AND (:state IS NULL OR state = :state) AND (:text IS NULL OR instr(url, :text) > 0) AND :host_id IS NULL
ORDER BY id LIMIT :most

-- By the index of its domain: there is none of all URLs of a host.
-- name: page_ids_of_host
SELECT id FROM urls INDEXED BY urls_identity
WHERE domain_id = (SELECT domain_id FROM hosts WHERE id = :host_id) AND host_id = :host_id AND id > :after AND id <= :upto
    AND (:state IS NULL OR state = :state) AND (:text IS NULL OR instr(url, :text) > 0)
ORDER BY id LIMIT :most

-- name: dead_urls
SELECT id FROM urls WHERE state = 7 AND url IN (SELECT value FROM json_each(?))
