-- Which term of the maximum decided how long a host rests (frontier.politeness.GapReason), in the words that are shown.
-- Null: it was not recorded, or the host was never contacted.
ALTER TABLE hosts ADD COLUMN rest_reason TEXT;

-- What a crawl waits for, by date: tries that are due later, and pages that are to be visited again. And dead letters by
-- reason. Each holds only the URLs that it is about, and all that a count asks for, so that no row need be read.
CREATE INDEX urls_retries ON urls (available_at, state, reason) WHERE state = 0 AND reason IS NOT NULL;
CREATE INDEX urls_recrawls ON urls (available_at, state) WHERE state IN (1, 2, 3) AND available_at IS NOT NULL;
CREATE INDEX urls_dead_reasons ON urls (reason, state) WHERE state = 7;
