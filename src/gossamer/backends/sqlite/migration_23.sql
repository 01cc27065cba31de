-- A crawl by several workers is on PostgreSQL.
DROP TABLE elsewhere;
DROP TABLE outbox;
DROP TABLE brought;
