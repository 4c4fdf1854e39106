-- +goose Up
-- +goose NO TRANSACTION

-- MySQL commits each of these statements by itself. Each can be repeated, so a migration that was
-- interrupted is begun again.

-- A key's record is one row. Who changes it holds the row's lock until the transaction ends, and a new one is
-- made by its unique digest: that alone decides between two who try.
--
-- Rows are in the order in which they were made, because digests are random: in their order each new row
-- would dirty a page of its own. No column of the two unique keys is ever changed: the server would lock what
-- lies beside the row, which are other keys.
--
-- All that is compared is bytes, whatever the order of text that the database has.
--
-- Instants are microseconds since 1970-01-01 UTC. The packed record holds its times relative to the columns
-- beside it, so that one statement can write a record by the server's clock.
CREATE TABLE IF NOT EXISTS reprise_record (
    made_at    BIGINT     NOT NULL,
    digest     BINARY(32) NOT NULL,
    claimed_at BIGINT     NOT NULL,
    forget_at  BIGINT     NOT NULL,            -- from then on it counts as absent; 0: never
    effect     TINYINT    NOT NULL DEFAULT 0,  -- 1 or 2 if an effect wrote it, 0 if a command did
    record     MEDIUMBLOB NOT NULL,
    answer     LONGBLOB,                       -- NULL: none
    PRIMARY KEY (made_at, digest),
    UNIQUE KEY reprise_record_digest (digest),
    -- For purging; and what is unfinished stands together, at 0. A digest in it would put every new entry into another place
    -- among those at 0, and find every one that is answered there: a lone caller would be some five percent slower.
    KEY reprise_record_due (forget_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET ascii;

-- The versions of the secret: never the secret itself.
CREATE TABLE IF NOT EXISTS reprise_secret (
    version      BIGINT     NOT NULL PRIMARY KEY,
    fingerprint  BINARY(32) NOT NULL,
    primary_from BIGINT     NOT NULL,
    retired      BIGINT     NOT NULL -- 0 while it lives
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii;
