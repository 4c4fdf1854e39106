-- +goose Up
-- +goose NO TRANSACTION

-- MySQL commits each of these statements by itself. Each can be repeated, so a migration that was interrupted
-- is begun again.
--
-- Restores: what is to be done, what is done, and by whom. It is here because what is being restored is what
-- broke.
--
-- Instants are microseconds since 1970-01-01 UTC by this server's clock; 0 is never. Names, keys and tokens are
-- binary, so that they are compared as bytes.

-- A session is one restore of one plan. Whoever changes anything by it shows its epoch: an older one is refused.
CREATE TABLE IF NOT EXISTS restore_sessions (
    id            BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    plan          VARBINARY(64)  NOT NULL,
    digest        VARBINARY(128) NOT NULL, -- of the configuration: another one is refused
    configuration TEXT           NOT NULL, -- the same in words
    program       VARCHAR(255)   NOT NULL, -- that made the session
    who           VARCHAR(255)   NOT NULL,
    why           TEXT           NOT NULL,
    failed_at     BIGINT         NOT NULL, -- when what is restored was lost
    started_at    BIGINT         NOT NULL,
    finished_at   BIGINT         NOT NULL DEFAULT 0, -- 0: it is live
    state         VARBINARY(16)  NOT NULL CHECK (state IN ('closing', 'draining', 'renewing', 'planning', 'applying', 'verifying', 'correcting', 'cleaning', 'reopening', 'cancelling', 'done', 'cancelled')),
    phase         SMALLINT       NOT NULL DEFAULT 0,
    phases        SMALLINT       NOT NULL, -- how many the plan has; the one after them is verification
    round         SMALLINT       NOT NULL DEFAULT 0, -- of verification
    generation    VARBINARY(64)  NOT NULL DEFAULT '', -- what is done under another one is void
    losses        INT            NOT NULL DEFAULT 0, -- how often the target was lost again
    paused        BOOLEAN        NOT NULL DEFAULT FALSE,
    reason        TEXT           NOT NULL, -- of the pause or the cancellation, and by whom
    trouble       TEXT           NOT NULL, -- what the current step waits for
    epoch         BIGINT         NOT NULL,
    fenced        BIGINT         NOT NULL DEFAULT 0, -- the epoch that the target is known to have
    owner         VARCHAR(255)   NOT NULL DEFAULT '', -- the process that manages it
    token         VARBINARY(64)  NOT NULL DEFAULT '',
    lease_until   BIGINT         NOT NULL DEFAULT 0,
    heartbeat_at  BIGINT         NOT NULL DEFAULT 0,
    rate          BIGINT         NOT NULL CHECK (rate >= 0), -- units a second and worker; 0: as many as it can
    batch         INT            NOT NULL CHECK (batch > 0), -- targets in a claim
    live          VARBINARY(64)  GENERATED ALWAYS AS (IF(finished_at = 0, plan, NULL)) STORED,
    UNIQUE KEY restore_sessions_live (live),
    KEY restore_sessions_plan (plan, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- How far a phase is listed, and what came of it.
CREATE TABLE IF NOT EXISTS restore_phases (
    session     BIGINT         NOT NULL,
    phase       SMALLINT       NOT NULL,
    name        VARCHAR(255)   NOT NULL,
    expected    BIGINT         NOT NULL, -- units, as the plan counts them
    listed      VARBINARY(255) NOT NULL DEFAULT '', -- up to here there are targets
    complete    BOOLEAN        NOT NULL DEFAULT FALSE, -- all targets are there
    targets     BIGINT         NOT NULL DEFAULT 0,
    units       BIGINT         NOT NULL DEFAULT 0,
    started_at  BIGINT         NOT NULL DEFAULT 0,
    finished_at BIGINT         NOT NULL DEFAULT 0,
    PRIMARY KEY (session, phase)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- A target is a range of units: from from_key up to, not including, to_key. The claim's key is of what may be taken,
-- in the order in which it is taken: rows that are skipped are those that others hold.
CREATE TABLE IF NOT EXISTS restore_targets (
    id            BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    session       BIGINT         NOT NULL,
    phase         SMALLINT       NOT NULL,
    from_key      VARBINARY(255) NOT NULL,
    to_key        VARBINARY(255) NOT NULL,
    units         BIGINT         NOT NULL,
    priority      BIGINT         NOT NULL, -- lower ones are taken first
    state         VARBINARY(16)  NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'processing', 'done', 'retryable', 'failed')),
    available_at  BIGINT         NOT NULL DEFAULT 0, -- when it may be taken: of one that is processed, the end of its lease
    worker        VARCHAR(255)   NOT NULL DEFAULT '',
    token         VARBINARY(64)  NOT NULL DEFAULT '', -- of the claim
    epoch         BIGINT         NOT NULL DEFAULT 0, -- of the session, at the claim
    attempts      INT            NOT NULL DEFAULT 0,
    reason        TEXT           NOT NULL,
    units_done    BIGINT         NOT NULL DEFAULT 0,
    units_skipped BIGINT         NOT NULL DEFAULT 0,
    found         BIGINT         NOT NULL DEFAULT 0, -- findings of its verification
    generation    VARBINARY(64)  NOT NULL DEFAULT '', -- under which it was done or failed
    settled_at    BIGINT         NOT NULL DEFAULT 0,
    takeable      BOOLEAN        GENERATED ALWAYS AS (state IN ('pending', 'processing', 'retryable')) STORED,
    UNIQUE KEY restore_targets_range (session, phase, from_key, to_key),
    KEY restore_targets_claim (session, phase, takeable, priority, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- What verification found.
CREATE TABLE IF NOT EXISTS restore_findings (
    id         BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
    session    BIGINT        NOT NULL,
    round      SMALLINT      NOT NULL,
    target     BIGINT        NOT NULL,
    kind       VARCHAR(255)  NOT NULL, -- of the item, as the plan names it
    item       TEXT          NOT NULL,
    outcome    VARBINARY(32) NOT NULL,
    detail     TEXT          NOT NULL,
    old        LONGBLOB, -- what a correction replaced, for undo
    found_at   BIGINT        NOT NULL,
    settled_at BIGINT        NOT NULL DEFAULT 0, -- when it was judged for correction
    KEY restore_findings_open (session, round, settled_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS restore_events (
    id      BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
    session BIGINT        NOT NULL,
    at      BIGINT        NOT NULL,
    kind    VARBINARY(32) NOT NULL,
    who     VARCHAR(255)  NOT NULL,
    detail  TEXT          NOT NULL,
    KEY restore_events_session (session, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
