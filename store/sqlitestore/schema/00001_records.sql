-- +goose Up

-- One row a key. What decides is the packed record; the columns beside it are copies of what has to be
-- found without unpacking: for purging, for listing, and for people who look into the file.
-- Instants are microseconds since 1970-01-01 UTC.
--
-- This is a rowid table on purpose. Clustered by digest, every new key would dirty a page of answers;
-- so it dirties a page of the index, which is much smaller, and the rows of one group lie together.
CREATE TABLE reprise_record (
    id             INTEGER PRIMARY KEY,
    digest         BLOB    NOT NULL CHECK (length(digest) = 32),
    state          INTEGER NOT NULL, -- 1 claimed, 2 executing, 3 completed, 4 retryable, 5 abandoned
    operation      TEXT    NOT NULL,
    secret_version INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    lease_end      INTEGER NOT NULL,
    forget_at      INTEGER,          -- from then on it counts as absent; NULL: never
    record         BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX reprise_record_digest ON reprise_record (digest);

-- For purging, in the order in which records are due.
CREATE INDEX reprise_record_due ON reprise_record (forget_at) WHERE forget_at IS NOT NULL;

-- For finding what is not answered yet among millions of answers. It holds few rows at any time.
CREATE INDEX reprise_record_open ON reprise_record (digest) WHERE state <> 3;

-- The versions of the secret: never the secret itself.
CREATE TABLE reprise_secret (
    version      INTEGER PRIMARY KEY,
    fingerprint  BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    primary_from INTEGER NOT NULL,
    retired      INTEGER NOT NULL -- 0 while it lives
) STRICT;
