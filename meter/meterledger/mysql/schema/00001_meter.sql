-- +goose Up
-- +goose NO TRANSACTION

-- MySQL commits each of these statements by itself. Each can be repeated, so a migration that was interrupted
-- is begun again.
--
-- What the meter knows for sure. Redis can be made from it, and nothing here is made from Redis.
--
-- Ids of lines, families, apps, events and grants are binary: compared as bytes, whatever the order of text
-- that the database has. "No family" is empty, not NULL, so that it is part of keys. Instants are microseconds
-- since 1970-01-01 UTC by this server's clock, except occurred_at, which the event says. Days are yyyyMMdd and
-- months yyyyMM, of the configured zone. Amounts are bytes, up to 2^63 - 1; sums of them may be more and are
-- DECIMAL(39).

-- One row: the life of the data in Redis that is believed. Who appends what Redis decided shares a lock on
-- it, and who changes it has it alone: so a change waits for those who append, and those who come later for it.
CREATE TABLE IF NOT EXISTS meter_generation (
    id         TINYINT         NOT NULL PRIMARY KEY,
    generation VARBINARY(32)   NOT NULL, -- empty: there is none yet
    who        VARCHAR(255)    NOT NULL,
    why        TEXT            NOT NULL,
    since      BIGINT          NOT NULL,
    purged     INT             NOT NULL DEFAULT 0 -- rows of the done log of days up to this may be gone: none is added
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
INSERT IGNORE INTO meter_generation (id, generation, who, why, since) VALUES (1, '', '', '', 0);

-- All generations there ever were: none comes back.
CREATE TABLE IF NOT EXISTS meter_generation_history (
    generation VARBINARY(32)   NOT NULL PRIMARY KEY,
    who        VARCHAR(255)    NOT NULL,
    why        TEXT            NOT NULL,
    since      BIGINT          NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- Lines and families, and the plan of each: what it is granted every month.
CREATE TABLE IF NOT EXISTS meter_families (
    id       VARBINARY(64) NOT NULL PRIMARY KEY,
    shared   BIGINT        NOT NULL,
    added_at BIGINT        NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;
CREATE TABLE IF NOT EXISTS meter_lines (
    id         VARBINARY(64) NOT NULL PRIMARY KEY,
    individual BIGINT        NOT NULL,
    qos        BIGINT        NOT NULL,
    added_at   BIGINT        NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;
CREATE TABLE IF NOT EXISTS meter_apps (
    id       VARBINARY(64) NOT NULL PRIMARY KEY,
    added_at BIGINT        NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;

-- Which family a line was in, and when: from from_at up to, not at, until_at. Each line has one row that is
-- not over, with the family '' if it is in none.
CREATE TABLE IF NOT EXISTS meter_members (
    line     VARBINARY(64) NOT NULL,
    family   VARBINARY(64) NOT NULL,
    from_at  BIGINT        NOT NULL,
    until_at BIGINT        NOT NULL DEFAULT 9223372036854775807, -- this: not over
    PRIMARY KEY (line, until_at),
    KEY meter_members_now (until_at, family, line),
    KEY meter_members_ever (family, line)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;

-- Grants are added and never changed, except that the change which one made in Redis is noted: once.
CREATE TABLE IF NOT EXISTS meter_grants (
    id           VARBINARY(128) NOT NULL PRIMARY KEY,
    kind         VARCHAR(7)     NOT NULL,
    line         VARBINARY(64)  NOT NULL, -- the owner: this,
    family       VARBINARY(64)  NOT NULL, -- or this; the other is empty
    month        INT            NOT NULL,
    individual   BIGINT         NOT NULL,
    qos          BIGINT         NOT NULL,
    shared       BIGINT         NOT NULL,
    made_at      BIGINT         NOT NULL,
    generation   VARBINARY(32),           -- NULL: not known to be in Redis
    version      BIGINT,                  -- of the owner in that generation; 0: hydration counted it
    confirmed_at BIGINT,
    monthly      TINYINT,                 -- 1 if it is the month's, else NULL, which no two rows have in common
    UNIQUE KEY meter_grants_monthly (line, family, month, monthly),
    KEY meter_grants_family (family, line, month),
    KEY meter_grants_unconfirmed (generation, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;

-- Policies, all versions; the highest counts. The line is empty for those of everybody. Policy 8 is the gate.
CREATE TABLE IF NOT EXISTS meter_policies (
    line     VARBINARY(64) NOT NULL,
    policy   TINYINT       NOT NULL,
    version  BIGINT        NOT NULL,
    settings MEDIUMTEXT    NOT NULL,
    who      VARCHAR(255)  CHARACTER SET utf8mb4 NOT NULL,
    set_at   BIGINT        NOT NULL,
    PRIMARY KEY (line, policy, version)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;
INSERT IGNORE INTO meter_policies VALUES
    ('', 1, 1, '', 'migration', 0), ('', 2, 1, '', 'migration', 0), ('', 3, 1, '', 'migration', 0), ('', 4, 1, '', 'migration', 0),
    ('', 5, 1, '', 'migration', 0), ('', 6, 1, '', 'migration', 0), ('', 7, 1, '', 'migration', 0), ('', 8, 1, 'open=no', 'migration', 0);

-- The done log: each event of a line once, and what was decided about it. Rows are in the order in which they
-- came: in that of lines, each would dirty a page of its own.
CREATE TABLE IF NOT EXISTS meter_done (
    id             BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    line           VARBINARY(64)  NOT NULL,
    event_id       VARBINARY(128) NOT NULL,
    app            VARBINARY(64)  NOT NULL,
    bytes          BIGINT         NOT NULL,
    occurred_at    BIGINT         NOT NULL,
    digest         BINARY(32)     NOT NULL, -- SHA-256 of the event
    individual     BIGINT         NOT NULL,
    shared         BIGINT         NOT NULL,
    qos            BIGINT         NOT NULL,
    blocked        BIGINT         NOT NULL,
    uncounted      BIGINT         NOT NULL,
    why            VARCHAR(255)   NOT NULL,
    speed          BIGINT         NOT NULL,
    day            INT            NOT NULL,
    month          INT            NOT NULL,
    family         VARBINARY(64)  NOT NULL, -- that the line was in
    generation     VARBINARY(32)  NOT NULL,
    line_version   BIGINT         NOT NULL,
    family_version BIGINT         NOT NULL, -- 0: the family was not changed
    recorded_at    BIGINT         NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
    fold           BIGINT,                  -- that took it into the totals; NULL: none has
    UNIQUE KEY meter_done_event (line, event_id),
    KEY meter_done_unfolded (fold, line, day), -- what is not folded stands together, at NULL
    KEY meter_done_recent (line, recorded_at)  -- for operation records: rows that are younger than these live
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;

-- What folds made of rows, each in the transaction that stamped its rows.
CREATE TABLE IF NOT EXISTS meter_daily_app_total (
    line       VARBINARY(64) NOT NULL,
    day        INT           NOT NULL,
    app        VARBINARY(64) NOT NULL,
    family     VARBINARY(64) NOT NULL,
    month      INT           NOT NULL,
    events     BIGINT        NOT NULL,
    individual DECIMAL(39)   NOT NULL,
    shared     DECIMAL(39)   NOT NULL,
    qos        DECIMAL(39)   NOT NULL,
    blocked    DECIMAL(39)   NOT NULL,
    uncounted  DECIMAL(39)   NOT NULL,
    PRIMARY KEY (line, day, app, family, month)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;
CREATE TABLE IF NOT EXISTS meter_monthly_snapshot (
    line       VARBINARY(64) NOT NULL,
    month      INT           NOT NULL,
    family     VARBINARY(64) NOT NULL,
    events     BIGINT        NOT NULL,
    individual DECIMAL(39)   NOT NULL,
    shared     DECIMAL(39)   NOT NULL,
    qos        DECIMAL(39)   NOT NULL,
    blocked    DECIMAL(39)   NOT NULL,
    uncounted  DECIMAL(39)   NOT NULL,
    PRIMARY KEY (line, month, family),
    KEY meter_monthly_snapshot_family (family, month)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;

-- How many changes of an owner (l:<line> or f:<family>) in a generation are in folded rows, and the highest
-- version among them. With the rows that are not folded, and the grants, that says whether any is missing,
-- without counting the log.
CREATE TABLE IF NOT EXISTS meter_folded_changes (
    owner      VARBINARY(66) NOT NULL,
    generation VARBINARY(32) NOT NULL,
    changes    BIGINT        NOT NULL,
    highest    BIGINT        NOT NULL,
    PRIMARY KEY (owner, generation)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;

-- Each run of a fold.
CREATE TABLE IF NOT EXISTS meter_folds (
    id         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    through    INT    NOT NULL, -- the last day it takes rows of
    folded     BIGINT NOT NULL, -- rows
    started_at BIGINT NOT NULL,
    ended_at   BIGINT           -- NULL: under way, or interrupted
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;

-- One row: the restore that no fold may run beside. A fold shares a lock on it for each batch, and who begins
-- a restore has it alone.
CREATE TABLE IF NOT EXISTS meter_fold_hold (
    id      TINYINT        NOT NULL PRIMARY KEY,
    session VARBINARY(128) NOT NULL, -- empty: folds may run
    why     TEXT           NOT NULL,
    since   BIGINT         NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
INSERT IGNORE INTO meter_fold_hold VALUES (1, '', '', 0);

-- Events that were taken in durably and are not known to be in the done log.
CREATE TABLE IF NOT EXISTS meter_inbox (
    id           BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    line         VARBINARY(64)  NOT NULL,
    event_id     VARBINARY(128) NOT NULL,
    digest       BINARY(32)     NOT NULL,
    event        TEXT           NOT NULL, -- canonical JSON
    received_at  BIGINT         NOT NULL,
    available_at BIGINT         NOT NULL, -- it may be taken from then on
    worker       VARCHAR(255)   CHARACTER SET utf8mb4 NOT NULL, -- that took it last
    UNIQUE KEY meter_inbox_event (line, event_id, digest),
    KEY meter_inbox_available (available_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;
