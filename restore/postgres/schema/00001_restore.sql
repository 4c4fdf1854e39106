-- +goose Up

-- Restores: what is to be done, what is done, and by whom. It is here because what is being restored is what
-- broke.
--
-- Instants are microseconds since 1970-01-01 UTC by this server's clock; 0 is never. Names, keys and tokens are
-- compared as bytes.

-- A session is one restore of one plan. Whoever changes anything by it shows its epoch: an older one is refused.
CREATE TABLE reprise.restore_sessions (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    plan          text COLLATE "C" NOT NULL,
    digest        text COLLATE "C" NOT NULL, -- of the configuration: another one is refused
    configuration text NOT NULL,             -- the same in words
    program       text NOT NULL,             -- that made the session
    who           text NOT NULL,
    why           text NOT NULL,
    failed_at     bigint NOT NULL,           -- when what is restored was lost
    started_at    bigint NOT NULL,
    finished_at   bigint NOT NULL DEFAULT 0, -- 0: it is live
    state         text COLLATE "C" NOT NULL CHECK (state IN ('closing', 'draining', 'renewing', 'planning', 'applying', 'verifying', 'correcting', 'cleaning', 'reopening', 'cancelling', 'done', 'cancelled')),
    phase         smallint NOT NULL DEFAULT 0,
    phases        smallint NOT NULL,         -- how many the plan has; the one after them is verification
    round         smallint NOT NULL DEFAULT 0, -- of verification
    generation    text COLLATE "C" NOT NULL DEFAULT '', -- what is done under another one is void
    losses        integer NOT NULL DEFAULT 0, -- how often the target was lost again
    paused        boolean NOT NULL DEFAULT false,
    reason        text NOT NULL DEFAULT '',  -- of the pause or the cancellation, and by whom
    trouble       text NOT NULL DEFAULT '',  -- what the current step waits for
    epoch         bigint NOT NULL,
    fenced        bigint NOT NULL DEFAULT 0, -- the epoch that the target is known to have
    owner         text NOT NULL DEFAULT '',  -- the process that manages it
    token         text COLLATE "C" NOT NULL DEFAULT '',
    lease_until   bigint NOT NULL DEFAULT 0,
    heartbeat_at  bigint NOT NULL DEFAULT 0,
    rate          bigint NOT NULL CHECK (rate >= 0),   -- units a second and worker; 0: as many as it can
    batch         integer NOT NULL CHECK (batch > 0)   -- targets in a claim
);
CREATE UNIQUE INDEX restore_sessions_live ON reprise.restore_sessions (plan) WHERE finished_at = 0;
CREATE INDEX restore_sessions_plan ON reprise.restore_sessions (plan, id);

-- How far a phase is listed, and what came of it.
CREATE TABLE reprise.restore_phases (
    session     bigint NOT NULL REFERENCES reprise.restore_sessions (id),
    phase       smallint NOT NULL,
    name        text NOT NULL,
    expected    bigint NOT NULL,             -- units, as the plan counts them
    listed      text COLLATE "C" NOT NULL DEFAULT '', -- up to here there are targets
    complete    boolean NOT NULL DEFAULT false,       -- all targets are there
    targets     bigint NOT NULL DEFAULT 0,
    units       bigint NOT NULL DEFAULT 0,
    started_at  bigint NOT NULL DEFAULT 0,
    finished_at bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (session, phase)
);

-- A target is a range of units: from from_key up to, not including, to_key.
CREATE TABLE reprise.restore_targets (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session       bigint NOT NULL REFERENCES reprise.restore_sessions (id),
    phase         smallint NOT NULL,
    from_key      text COLLATE "C" NOT NULL,
    to_key        text COLLATE "C" NOT NULL,
    units         bigint NOT NULL,
    priority      bigint NOT NULL,           -- lower ones are taken first
    state         text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'processing', 'done', 'retryable', 'failed')),
    available_at  bigint NOT NULL DEFAULT 0, -- when it may be taken: of one that is processed, the end of its lease
    worker        text NOT NULL DEFAULT '',
    token         text COLLATE "C" NOT NULL DEFAULT '', -- of the claim
    epoch         bigint NOT NULL DEFAULT 0, -- of the session, at the claim
    attempts      integer NOT NULL DEFAULT 0,
    reason        text NOT NULL DEFAULT '',
    units_done    bigint NOT NULL DEFAULT 0,
    units_skipped bigint NOT NULL DEFAULT 0,
    found         bigint NOT NULL DEFAULT 0, -- findings of its verification
    generation    text COLLATE "C" NOT NULL DEFAULT '', -- under which it was done or failed
    settled_at    bigint NOT NULL DEFAULT 0,
    CONSTRAINT restore_targets_range UNIQUE (session, phase, from_key, to_key)
);
-- Of what may be taken, and in the order in which it is taken: rows that are skipped are those that others hold.
CREATE INDEX restore_targets_claim ON reprise.restore_targets (session, phase, priority, id) WHERE state IN ('pending', 'processing', 'retryable');

-- What verification found.
CREATE TABLE reprise.restore_findings (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session    bigint NOT NULL REFERENCES reprise.restore_sessions (id),
    round      smallint NOT NULL,
    target     bigint NOT NULL,
    kind       text NOT NULL,                -- of the item, as the plan names it
    item       text NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    detail     text NOT NULL,
    old        bytea,                        -- what a correction replaced, for undo
    found_at   bigint NOT NULL,
    settled_at bigint NOT NULL DEFAULT 0     -- when it was judged for correction
);
CREATE INDEX restore_findings_open ON reprise.restore_findings (session, round, settled_at, id);

CREATE TABLE reprise.restore_events (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES reprise.restore_sessions (id),
    at      bigint NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    who     text NOT NULL,
    detail  text NOT NULL
);
CREATE INDEX restore_events_session ON reprise.restore_events (session, id);
