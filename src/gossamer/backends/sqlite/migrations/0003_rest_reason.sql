-- Which term of the maximum decided how long a host rests (frontier.politeness.GapReason), in the words that are shown.
-- Null: it was not recorded, or the host was never contacted.
ALTER TABLE hosts ADD COLUMN rest_reason TEXT;

-- What a crawl waits for, by date: tries that are due later, and pages that are to be visited again.
-- Both hold only the URLs that have such a date.
CREATE INDEX urls_retries ON urls (available_at) WHERE state = 0 AND reason IS NOT NULL;
CREATE INDEX urls_recrawls ON urls (available_at) WHERE state IN (1, 2, 3) AND available_at IS NOT NULL;
-- Dead letters by reason, counted without reading them.
CREATE INDEX urls_dead_reasons ON urls (reason) WHERE state = 7;
