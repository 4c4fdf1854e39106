-- +goose Up

-- What the meter knows for sure. Redis can be made from it, and nothing here is made from Redis.
--
-- Ids of lines, families, apps, events and grants are compared as bytes. "No family" is the empty text, not
-- NULL, so that it is part of keys. Instants are microseconds since 1970-01-01 UTC by this server's clock,
-- except occurred_at, which the event says. Days are yyyyMMdd and months yyyyMM, of the configured zone.
-- Amounts are bytes, up to 2^63 - 1; sums of them may be more and are numeric(39).

-- One row: the life of the data in Redis that is believed. Who appends what Redis decided takes this table
-- in ROW SHARE, and who changes it in EXCLUSIVE mode: so a change waits for those who append, and those
-- who come later for it. A lock of the row would let appenders in before one who waits to change it.
CREATE TABLE reprise.meter_generation (
    id         smallint PRIMARY KEY CHECK (id = 1),
    generation text COLLATE "C" NOT NULL, -- empty: there is none yet
    who        text NOT NULL,
    why        text NOT NULL,
    since      bigint NOT NULL,
    purged     integer NOT NULL DEFAULT 0 -- rows of the done log of days up to this may be gone: none is added
);
INSERT INTO reprise.meter_generation (id, generation, who, why, since) VALUES (1, '', '', '', 0);

-- All generations there ever were: none comes back.
CREATE TABLE reprise.meter_generation_history (
    generation text COLLATE "C" PRIMARY KEY,
    who        text NOT NULL,
    why        text NOT NULL,
    since      bigint NOT NULL
);

-- Lines and families, and the plan of each: what it is granted every month.
CREATE TABLE reprise.meter_families (
    id       text COLLATE "C" PRIMARY KEY,
    shared   bigint NOT NULL CHECK (shared >= 0),
    added_at bigint NOT NULL
);
CREATE TABLE reprise.meter_lines (
    id         text COLLATE "C" PRIMARY KEY,
    individual bigint NOT NULL CHECK (individual >= 0),
    qos        bigint NOT NULL CHECK (qos >= 0),
    added_at   bigint NOT NULL
);
CREATE TABLE reprise.meter_apps (
    id       text COLLATE "C" PRIMARY KEY,
    added_at bigint NOT NULL
);

-- Which family a line was in, and when: from from_at up to, not at, until_at. Each line has one row that is
-- not over, with the family '' if it is in none.
CREATE TABLE reprise.meter_members (
    line     text COLLATE "C" NOT NULL,
    family   text COLLATE "C" NOT NULL,
    from_at  bigint NOT NULL,
    until_at bigint NOT NULL DEFAULT 9223372036854775807, -- this: not over
    PRIMARY KEY (line, until_at),
    CHECK (from_at < until_at)
);
CREATE INDEX meter_members_now ON reprise.meter_members (family, line) WHERE until_at = 9223372036854775807;
CREATE INDEX meter_members_ever ON reprise.meter_members (family, line);

-- Grants are added and never changed, except that the change which one made in Redis is noted: once.
CREATE TABLE reprise.meter_grants (
    id           text COLLATE "C" PRIMARY KEY,
    kind         text NOT NULL CHECK (kind IN ('monthly', 'topup')),
    line         text COLLATE "C" NOT NULL, -- the owner: this,
    family       text COLLATE "C" NOT NULL, -- or this; the other is empty
    month        integer NOT NULL,
    individual   bigint NOT NULL,
    qos          bigint NOT NULL,
    shared       bigint NOT NULL,
    made_at      bigint NOT NULL,
    generation   text COLLATE "C", -- NULL: not known to be in Redis
    version      bigint,           -- of the owner in that generation; 0: hydration counted it
    confirmed_at bigint,
    CHECK ((line = '') <> (family = ''))
);
CREATE UNIQUE INDEX meter_grants_monthly ON reprise.meter_grants (line, family, month) WHERE kind = 'monthly';
CREATE INDEX meter_grants_line ON reprise.meter_grants (line, month) WHERE line <> '';
CREATE INDEX meter_grants_family ON reprise.meter_grants (family, month) WHERE family <> '';
CREATE INDEX meter_grants_unconfirmed ON reprise.meter_grants (id) WHERE generation IS NULL;

-- Policies, all versions; the highest counts. The line is empty for those of everybody. Policy 8 is the gate.
CREATE TABLE reprise.meter_policies (
    line     text COLLATE "C" NOT NULL,
    policy   smallint NOT NULL CHECK (policy BETWEEN 1 AND 8),
    version  bigint NOT NULL CHECK (version >= 1),
    settings text NOT NULL,
    who      text NOT NULL,
    set_at   bigint NOT NULL,
    PRIMARY KEY (line, policy, version)
);
INSERT INTO reprise.meter_policies
SELECT '', policy, 1, CASE policy WHEN 8 THEN 'open=no' ELSE '' END, 'migration', 0 FROM generate_series(1, 8) AS policy;

-- The done log: each event of a line once, and what was decided about it.
CREATE TABLE reprise.meter_done (
    line           text COLLATE "C" NOT NULL,
    event_id       text COLLATE "C" NOT NULL,
    app            text COLLATE "C" NOT NULL,
    bytes          bigint NOT NULL,
    occurred_at    bigint NOT NULL,
    digest         bytea NOT NULL, -- SHA-256 of the event
    individual     bigint NOT NULL,
    shared         bigint NOT NULL,
    qos            bigint NOT NULL,
    blocked        bigint NOT NULL,
    uncounted      bigint NOT NULL,
    why            text NOT NULL,
    speed          bigint NOT NULL,
    day            integer NOT NULL,
    month          integer NOT NULL,
    family         text COLLATE "C" NOT NULL, -- that the line was in
    generation     text COLLATE "C" NOT NULL,
    line_version   bigint NOT NULL,
    family_version bigint NOT NULL, -- 0: the family was not changed
    recorded_at    bigint NOT NULL,
    fold           bigint, -- that took it into the totals; NULL: none has
    PRIMARY KEY (line, event_id)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

-- What is not folded stands together, so that neither a fold nor a hydration reads the rest of the log.
CREATE INDEX meter_done_unfolded ON reprise.meter_done (line, day) WHERE fold IS NULL;

-- For operation records: the rows of a line that are younger than these live.
CREATE INDEX meter_done_recent ON reprise.meter_done (line, recorded_at);

-- What folds made of rows, each in the transaction that stamped its rows.
CREATE TABLE reprise.meter_daily_app_total (
    line       text COLLATE "C" NOT NULL,
    day        integer NOT NULL,
    app        text COLLATE "C" NOT NULL,
    family     text COLLATE "C" NOT NULL,
    month      integer NOT NULL,
    events     bigint NOT NULL,
    individual numeric(39) NOT NULL,
    shared     numeric(39) NOT NULL,
    qos        numeric(39) NOT NULL,
    blocked    numeric(39) NOT NULL,
    uncounted  numeric(39) NOT NULL,
    PRIMARY KEY (line, day, app, family, month)
);
CREATE TABLE reprise.meter_monthly_snapshot (
    line       text COLLATE "C" NOT NULL,
    month      integer NOT NULL,
    family     text COLLATE "C" NOT NULL,
    events     bigint NOT NULL,
    individual numeric(39) NOT NULL,
    shared     numeric(39) NOT NULL,
    qos        numeric(39) NOT NULL,
    blocked    numeric(39) NOT NULL,
    uncounted  numeric(39) NOT NULL,
    PRIMARY KEY (line, month, family)
);
CREATE INDEX meter_monthly_snapshot_family ON reprise.meter_monthly_snapshot (family, month) WHERE family <> '';

-- How many changes of an owner (l:<line> or f:<family>) in a generation are in folded rows, and the highest
-- version among them. With the rows that are not folded, and the grants, that says whether any is missing,
-- without counting the log.
CREATE TABLE reprise.meter_folded_changes (
    owner      text COLLATE "C" NOT NULL,
    generation text COLLATE "C" NOT NULL,
    changes    bigint NOT NULL,
    highest    bigint NOT NULL,
    PRIMARY KEY (owner, generation)
);

-- Each run of a fold.
CREATE TABLE reprise.meter_folds (
    id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    through    integer NOT NULL, -- the last day it takes rows of
    folded     bigint NOT NULL,  -- rows
    started_at bigint NOT NULL,
    ended_at   bigint            -- NULL: under way, or interrupted
);

-- One row: the restore that no fold may run beside. A fold takes this table in ROW SHARE mode for each
-- batch, and who begins a restore in EXCLUSIVE mode.
CREATE TABLE reprise.meter_fold_hold (
    id      smallint PRIMARY KEY CHECK (id = 1),
    session text COLLATE "C" NOT NULL, -- empty: folds may run
    why     text NOT NULL,
    since   bigint NOT NULL
);
INSERT INTO reprise.meter_fold_hold VALUES (1, '', '', 0);

-- Events that were taken in durably and are not known to be in the done log.
CREATE TABLE reprise.meter_inbox (
    id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    line         text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C" NOT NULL,
    digest       bytea NOT NULL,
    event        text NOT NULL,   -- canonical JSON
    received_at  bigint NOT NULL,
    available_at bigint NOT NULL, -- it may be taken from then on
    worker       text NOT NULL,   -- that took it last
    UNIQUE (line, event_id, digest)
);
CREATE INDEX meter_inbox_available ON reprise.meter_inbox (available_at, id);
