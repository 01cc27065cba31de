-- The tables of the protocol by which workers share a crawl (ADR 25). `src/gossamer/cluster/` describes it.

-- One row. Everybody reads it with each heartbeat; adding URLs from outside shares its lock, ending the crawl needs it alone.
CREATE TABLE crawl (
    id            smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    state         text NOT NULL DEFAULT 'running',  -- running, stopped, finished, page_limit
    generation    bigint NOT NULL DEFAULT 1,        -- raised when commits were lost that had been acknowledged
    partitions    smallint NOT NULL,
    rules_version bigint NOT NULL DEFAULT 1,
    max_pages     bigint,                           -- NULL: no limit
    due_by        double precision NOT NULL,        -- recrawls due later do not keep the crawl from ending
    ttl           double precision NOT NULL DEFAULT 10,  -- of leases, for all workers
    kept_open_until timestamptz NOT NULL DEFAULT to_timestamp(0)  -- until then, with nothing left to do, workers wait for more
);

-- A row for each life of a worker, kept for ever: its first part in every transaction. No index covers a column that a commit
-- changes.
CREATE TABLE fence (
    epoch         bigint PRIMARY KEY,
    alive         boolean NOT NULL DEFAULT true,
    commits       bigint NOT NULL DEFAULT 0,
    granted       bigint NOT NULL DEFAULT 0,        -- pages that it may store
    stored        bigint NOT NULL DEFAULT 0         -- pages that it has stored
) WITH (fillfactor = 50);
CREATE INDEX fence_alive ON fence (epoch) WHERE alive;

-- What workers tell about themselves. Only `beat` has a meaning for the protocol, and only together with `fence.alive`.
CREATE TABLE workers (
    epoch         bigint PRIMARY KEY,
    name          text NOT NULL,
    beat          bigint NOT NULL DEFAULT 0,
    state         text NOT NULL DEFAULT 'active',   -- active, draining, left, dead
    weight        double precision NOT NULL,
    joined        timestamptz NOT NULL DEFAULT now(),
    version       text NOT NULL,
    stats         text NOT NULL DEFAULT '{}',
    rules_version bigint NOT NULL DEFAULT 0         -- of the rules that it has applied
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX workers_name ON workers (name) WHERE state IN ('active', 'draining');

CREATE TABLE partitions (
    part          smallint PRIMARY KEY,
    epoch         bigint,                           -- NULL: free
    released      text NOT NULL DEFAULT 'new',      -- by its last owner: new, given, dead, lost; `given` as well once it has rested
    deaths        integer NOT NULL DEFAULT 0,       -- of its owners, in a row
    free_from     timestamptz NOT NULL DEFAULT to_timestamp(0)
);
CREATE INDEX partitions_owner ON partitions (epoch);

-- Addresses that a worker may contact, or might until it gave them up.
CREATE TABLE gates (
    address       text COLLATE "C" PRIMARY KEY,
    epoch         bigint,                           -- NULL: free
    released      text NOT NULL DEFAULT 'new',      -- as in `partitions`
    rest          double precision NOT NULL DEFAULT 0,  -- seconds that were left of its rest when it was given up
    released_at   timestamptz NOT NULL DEFAULT now(),
    wanted        boolean NOT NULL DEFAULT false
);
CREATE INDEX gates_holder ON gates (epoch);

-- What the owner of a partition has to take in. Ids are not in the order of commits.
CREATE TABLE inbox (
    part          smallint NOT NULL,
    id            bigint GENERATED ALWAYS AS IDENTITY,
    kind          text NOT NULL,                    -- urls, gains, hints, names, order, hold, return
    body          bytea NOT NULL,
    PRIMARY KEY (part, id)
);
