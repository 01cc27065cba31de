-- How many URLs of a host are not queued, are stored, were ever answered and are excluded, so that a list of hosts need not
-- count every URL. New URLs are queued and not counted here: they only grow, so a reader counts them as they come
-- (host_index). A trigger keeps the counts, so that they are true whoever moves a URL; and they are in the row of the host,
-- which a visit writes anyway.
ALTER TABLE hosts ADD COLUMN away INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN excluded INTEGER NOT NULL DEFAULT 0;
UPDATE hosts SET away = counted.away, stored = counted.stored, answered = counted.answered, excluded = counted.excluded
FROM (
    SELECT host_id, sum(state <> 0) AS away, sum(state = 1) AS stored, sum(visits > 0) AS answered,
        sum(state = 6) AS excluded
    FROM urls GROUP BY host_id
) AS counted
WHERE hosts.id = counted.host_id;

CREATE TRIGGER urls_counted AFTER UPDATE OF state, visits ON urls
WHEN new.state <> old.state OR (new.visits > 0) <> (old.visits > 0)
BEGIN
    UPDATE hosts SET away = away + (new.state <> 0) - (old.state <> 0),
        stored = stored + (new.state = 1) - (old.state = 1),
        answered = answered + (new.visits > 0) - (old.visits > 0),
        excluded = excluded + (new.state = 6) - (old.state = 6)
    WHERE id = new.host_id;
END;
