-- Where a host was found last, so that a restart need not ask for every name at once (fetch.dns.stored), and how long it
-- has been failing, so that it does not begin anew with a host that is down (frontier.breaker). Null: nothing is known.
ALTER TABLE hosts ADD COLUMN resolved TEXT;
ALTER TABLE hosts ADD COLUMN trouble TEXT;

-- Since when a robots.txt could not be had. The rest of the row is then what was known before; status is null if nothing.
ALTER TABLE robots ADD COLUMN unreachable_since REAL;
