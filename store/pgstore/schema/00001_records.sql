-- +goose Up

-- A key's record stands in one of two tables, never in both. What is not answered yet is rewritten with
-- every step and soon gone, so it stands in a small table of its own; an answer is written once and stays
-- as it is until it is purged. In one table, the dead versions of the first kind would take as much room
-- again as the answers do.
--
-- Whoever changes the record of a key holds the key's advisory lock until the transaction ends:
-- pg_try_advisory_xact_lock of the digest's first eight bytes as a signed big-endian number. What is read
-- in a later statement of a READ COMMITTED transaction is therefore the latest, in both tables.
--
-- A digest has 32 bytes and is kept as two halves, because a uuid compares faster than a bytea. The indexes have both as they are: a
-- hash of the second half would make them a fifth smaller, and an expression in an index is prepared anew by every statement, which costs a
-- lone caller three percent of its time. For people:
--   SELECT * FROM reprise_answered WHERE head = '<first 32 hex digits>' AND tail = '<last 32>';
--
-- Instants are microseconds since 1970-01-01 UTC. The packed record holds its times relative to the
-- columns beside it, so that one statement can write a record by the server's clock; see form.go.
--
-- Everything is made in the schema that comes first in the search path. The bodies of functions, which run
-- under any path, say reprise for it; where it has another name, that stands in its place.

-- What is not answered: claimed, executing, retryable, abandoned.
CREATE TABLE reprise_open (
    head       uuid    NOT NULL,
    tail       uuid    NOT NULL,
    claimed_at bigint  NOT NULL,
    forget_at  bigint,           -- from then on it counts as absent; NULL: never
    awaited    boolean NOT NULL DEFAULT false, -- another process wants to be notified of its end
    record     bytea   NOT NULL,
    answer     bytea             -- evidence, never replayed; NULL: none
) WITH (
    fillfactor = 70, vacuum_truncate = off, -- it will be needed again, and truncating locks the table
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0
);

CREATE UNIQUE INDEX reprise_open_digest ON reprise_open (head, tail);

CREATE INDEX reprise_open_due ON reprise_open (forget_at) WHERE forget_at IS NOT NULL;

-- Answers, until they are forgotten.
CREATE TABLE reprise_answered (
    head       uuid   NOT NULL,
    tail       uuid   NOT NULL,
    claimed_at bigint NOT NULL,
    forget_at  bigint NOT NULL,
    record     bytea  NOT NULL,
    answer     bytea  NOT NULL
);

CREATE UNIQUE INDEX reprise_answered_digest ON reprise_answered (head, tail);

-- For purging. Answers of the same minute share an entry, which is a third of the size.
CREATE INDEX reprise_answered_due ON reprise_answered ((forget_at >> 26));

-- The versions of the secret: never the secret itself.
CREATE TABLE reprise_secret (
    version      bigint PRIMARY KEY,
    fingerprint  bytea  NOT NULL CHECK (length(fingerprint) = 32),
    primary_from bigint NOT NULL,
    retired      bigint NOT NULL -- 0 while it lives
);

-- The store's clock, given the server's: they are the same. Every use of the time goes through here.
CREATE FUNCTION reprise_clock(at timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT at';

-- An instant of the store's clock. Called immutable it would not be inlined, and be slow. date_part counts in doubles, which extract does in
-- numerics, at several times the cost: microseconds come out exactly until 2041, and to one later, and never in another order.
CREATE FUNCTION reprise_instant(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (date_part('epoch', reprise.reprise_clock(at)) * 1000000)::bigint;

-- The functions below have no settings of their own, such as a search_path: one costs as much as a part of
-- the work. What they need is set for the session or the transaction, see query/session.sql and
-- query/transaction.sql.

-- +goose StatementBegin
-- Makes a new record and returns its time, or only returns the time if it is out of its bounds. NULL: there
-- is a record, or its key is held.
--
-- The isolation, the lock and the time, in this order, are one expression: each by itself would take a snapshot. The insertion takes one of
-- its own, after the lock.
CREATE FUNCTION reprise_begin(
    new_head uuid, new_tail uuid, new_lock bigint, new_record bytea, new_forget bigint, new_before bigint, new_from bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    moment bigint := CASE
        WHEN current_setting('transaction_isolation') <> 'read committed' THEN -1
        WHEN pg_try_advisory_xact_lock(new_lock) THEN reprise.reprise_instant(clock_timestamp())
    END;
BEGIN
    IF moment < new_from OR moment >= new_before OR moment < 0 THEN
        IF moment < 0 THEN
            RAISE EXCEPTION 'reprise_begin needs READ COMMITTED, not %', current_setting('transaction_isolation')
                USING HINT = 'set default_transaction_isolation = ''read committed'' for the role of this connection';
        END IF;
        IF EXISTS (SELECT FROM reprise.reprise_answered WHERE head = new_head AND tail = new_tail)
            OR EXISTS (SELECT FROM reprise.reprise_open WHERE head = new_head AND tail = new_tail) THEN
            RETURN NULL;
        END IF;
        RETURN moment;
    END IF;
    INSERT INTO reprise.reprise_open (head, tail, claimed_at, forget_at, record)
    SELECT new_head, new_tail, moment, moment + new_forget, new_record
    WHERE moment IS NOT NULL AND NOT EXISTS (SELECT FROM reprise.reprise_answered WHERE head = new_head AND tail = new_tail)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN moment;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- Writes a group: new records (new_…) where there is none, and answers (end_…) where the record is still
-- the one that the caller remembers. Returns the time at which each kind was written, and the heads of
-- the digests that were: new records count as written, too, if there is none and they are out of their
-- bounds. For everything else, the caller looks for itself. No two digests of a group have the same head.
--
-- A new record's bounds are new_from <= now < new_before. Those that all have in common come in one number
-- each, so that the others are looked at only where these do not hold.
--
-- Nothing here waits for another transaction: a key that somebody holds is left out. Lists are unnested
-- side by side in a select list, which copies less than a FROM would.
CREATE FUNCTION reprise_commit(
    new_head uuid[], new_tail uuid[], new_lock bigint[], new_record bytea[], new_forget bigint[],
    new_before bigint[], new_from bigint[], all_before bigint, all_from bigint,
    end_head uuid[], end_tail uuid[], end_lock bigint[], end_claimed bigint[], end_seen bytea[],
    end_record bytea[], end_answer bytea[], end_remember bigint[],
    OUT new_at bigint, OUT new_written uuid[], OUT end_at bigint, OUT end_written uuid[]
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    ours boolean[];
    barred uuid[];
    told text[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'reprise_commit needs READ COMMITTED, not %', current_setting('transaction_isolation')
            USING HINT = 'set default_transaction_isolation = ''read committed'' for the role of this connection';
    END IF;

    IF cardinality(new_head) > 0 THEN
        ours := ARRAY(SELECT pg_try_advisory_xact_lock(unnest(new_lock)));
        new_at := reprise.reprise_instant(clock_timestamp());
        IF new_at >= all_before OR new_at < all_from THEN
            barred := ARRAY(
                SELECT n.head FROM (
                    SELECT unnest(new_head) AS head, unnest(new_tail) AS tail, unnest(ours) AS ours, unnest(new_before) AS before, unnest(new_from) AS since
                ) AS n
                WHERE n.ours AND (new_at >= n.before OR new_at < n.since)
                    AND NOT EXISTS (SELECT FROM reprise.reprise_answered a WHERE a.head = n.head AND a.tail = n.tail)
                    AND NOT EXISTS (SELECT FROM reprise.reprise_open o WHERE o.head = n.head AND o.tail = n.tail));
            ours := ARRAY(
                SELECT n.ours AND new_at < n.before AND new_at >= n.since
                FROM (SELECT unnest(ours) AS ours, unnest(new_before) AS before, unnest(new_from) AS since) AS n);
        END IF;
        WITH made AS (
            INSERT INTO reprise.reprise_open AS o (head, tail, claimed_at, forget_at, record)
            SELECT n.head, n.tail, new_at, new_at + n.forget, n.record
            FROM (
                SELECT unnest(new_head) AS head, unnest(new_tail) AS tail, unnest(ours) AS ours, unnest(new_record) AS record, unnest(new_forget) AS forget
            ) AS n
            WHERE n.ours AND NOT EXISTS (SELECT FROM reprise.reprise_answered a WHERE a.head = n.head AND a.tail = n.tail)
            ON CONFLICT DO NOTHING
            RETURNING o.head
        )
        SELECT barred || array_agg(head) INTO new_written FROM made;
    END IF;

    IF cardinality(end_head) > 0 THEN
        ours := ARRAY(SELECT pg_try_advisory_xact_lock(unnest(end_lock)));
        end_at := reprise.reprise_instant(clock_timestamp());
        WITH ended AS (
            DELETE FROM reprise.reprise_open o
            USING (
                SELECT unnest(end_head) AS head, unnest(end_tail) AS tail, unnest(ours) AS ours, unnest(end_claimed) AS claimed, unnest(end_seen) AS seen,
                    unnest(end_record) AS record, unnest(end_answer) AS answer, unnest(end_remember) AS remember
            ) AS e
            WHERE e.ours AND o.head = e.head AND o.tail = e.tail AND o.claimed_at = e.claimed AND o.record = e.seen
            RETURNING o.head, o.tail, o.claimed_at, o.awaited, e.record, e.answer, e.remember
        ), answered AS (
            INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
            SELECT head, tail, claimed_at, end_at + remember, record, answer FROM ended
        )
        SELECT array_agg(head), array_agg(replace(head::text || tail::text, '-', '')) FILTER (WHERE awaited)
        INTO end_written, told FROM ended;
        IF told IS NOT NULL THEN
            PERFORM pg_notify('reprise.changed', one) FROM unnest(told) AS one;
        END IF;
    END IF;
END
$$;
-- +goose StatementEnd
