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
-- A digest has 32 bytes and is kept as two halves, because a uuid compares faster than a bytea and an
-- index entry of two is eight bytes smaller. For people:
--   SELECT * FROM reprise_answered WHERE head = '<first 32 hex digits>' AND tail = '<last 32>';
--
-- Instants are microseconds since 1970-01-01 UTC. The packed record holds its times relative to the
-- columns beside it, so that one statement can write a record by the server's clock; see form.go.

-- What is not answered: claimed, executing, retryable, abandoned.
CREATE TABLE reprise_open (
    head       uuid    NOT NULL,
    tail       uuid    NOT NULL,
    claimed_at bigint  NOT NULL,
    forget_at  bigint,           -- from then on it counts as absent; NULL: never
    awaited    boolean NOT NULL DEFAULT false, -- another process wants to be notified of its end
    record     bytea   NOT NULL,
    answer     bytea             -- evidence, never replayed; NULL: none
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);

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

-- An instant of the store's clock. Called immutable it would not be inlined, and be slow.
CREATE FUNCTION reprise_instant(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (extract(epoch FROM reprise_clock(at)) * 1000000)::bigint;

-- +goose StatementBegin
-- Makes a new record and returns its time, or only returns the time if it is out of its bounds. NULL: there
-- is a record, or its key is held.
CREATE FUNCTION reprise_begin(
    new_head uuid, new_tail uuid, new_lock bigint, new_record bytea, new_forget bigint, new_before bigint, new_from bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
DECLARE
    moment bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'reprise_begin needs READ COMMITTED, not %', current_setting('transaction_isolation')
            USING HINT = 'set default_transaction_isolation = ''read committed'' for the role of this connection';
    END IF;
    IF NOT pg_try_advisory_xact_lock(new_lock) THEN
        RETURN NULL;
    END IF;
    moment := reprise_instant(clock_timestamp());
    IF new_before <> 0 AND moment >= new_before OR moment < new_from THEN
        IF EXISTS (SELECT FROM reprise_answered WHERE head = new_head AND tail = new_tail)
            OR EXISTS (SELECT FROM reprise_open WHERE head = new_head AND tail = new_tail) THEN
            RETURN NULL;
        END IF;
        RETURN moment;
    END IF;
    INSERT INTO reprise_open (head, tail, claimed_at, forget_at, record)
    SELECT new_head, new_tail, moment, moment + new_forget, new_record
    WHERE NOT EXISTS (SELECT FROM reprise_answered WHERE head = new_head AND tail = new_tail)
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
-- the one that the caller remembers. Returns what was written, and new records that were out of their
-- bounds (new_before, new_from) where there is none; for everything else, the caller looks for itself.
--
-- Nothing here waits for another transaction: a key that somebody holds is left out. The settings keep
-- the planner from reading whole tables: plans are made once a connection, when tables may be small.
CREATE FUNCTION reprise_commit(
    new_head uuid[], new_tail uuid[], new_lock bigint[], new_record bytea[], new_forget bigint[],
    new_before bigint[], new_from bigint[],
    end_head uuid[], end_tail uuid[], end_lock bigint[], end_claimed bigint[], end_seen bytea[],
    end_record bytea[], end_answer bytea[], end_remember bigint[]
) RETURNS TABLE (written_head uuid, written_tail uuid, written_at bigint)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
SET jit = off
AS $$
DECLARE
    ours boolean[];
    moment bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'reprise_commit needs READ COMMITTED, not %', current_setting('transaction_isolation')
            USING HINT = 'set default_transaction_isolation = ''read committed'' for the role of this connection';
    END IF;

    IF cardinality(new_head) > 0 THEN
        ours := ARRAY(SELECT pg_try_advisory_xact_lock(l) FROM unnest(new_lock) l);
        moment := reprise_instant(clock_timestamp());
        IF new_before IS NOT NULL THEN
            RETURN QUERY
            SELECT n.head, n.tail, moment
            FROM unnest(new_head, new_tail, ours, new_before, new_from) AS n (head, tail, ours, before, since)
            WHERE n.ours AND (n.before <> 0 AND moment >= n.before OR moment < n.since)
                AND NOT EXISTS (SELECT FROM reprise_answered a WHERE a.head = n.head AND a.tail = n.tail)
                AND NOT EXISTS (SELECT FROM reprise_open o WHERE o.head = n.head AND o.tail = n.tail);
        ELSE
            new_before := array_fill(0, ARRAY[cardinality(new_head)]);
            new_from := new_before;
        END IF;
        RETURN QUERY
        INSERT INTO reprise_open AS o (head, tail, claimed_at, forget_at, record)
        SELECT n.head, n.tail, moment, moment + n.forget, n.record
        FROM unnest(new_head, new_tail, ours, new_record, new_forget, new_before, new_from)
            AS n (head, tail, ours, record, forget, before, since)
        WHERE n.ours AND (n.before = 0 OR moment < n.before) AND moment >= n.since
            AND NOT EXISTS (SELECT FROM reprise_answered a WHERE a.head = n.head AND a.tail = n.tail)
        ON CONFLICT DO NOTHING
        RETURNING o.head, o.tail, moment;
    END IF;

    IF cardinality(end_head) > 0 THEN
        ours := ARRAY(SELECT pg_try_advisory_xact_lock(l) FROM unnest(end_lock) l);
        moment := reprise_instant(clock_timestamp());
        RETURN QUERY
        WITH ended AS (
            DELETE FROM reprise_open o
            USING unnest(end_head, end_tail, ours, end_claimed, end_seen, end_record, end_answer, end_remember)
                AS e (head, tail, ours, claimed, seen, record, answer, remember)
            WHERE e.ours AND o.head = e.head AND o.tail = e.tail AND o.claimed_at = e.claimed AND o.record = e.seen
            RETURNING o.head, o.tail, o.claimed_at, o.awaited, e.record, e.answer, e.remember
        ), told AS (
            SELECT pg_notify(current_schema() || '.changed', replace(head::text || tail::text, '-', ''))
            FROM ended WHERE awaited
        ), answered AS (
            INSERT INTO reprise_answered AS a (head, tail, claimed_at, forget_at, record, answer)
            SELECT head, tail, claimed_at, moment + remember, record, answer FROM ended
            RETURNING a.head, a.tail
        )
        SELECT a.head, a.tail, moment FROM answered a WHERE (SELECT count(*) FROM told) >= 0;
    END IF;
END
$$;
-- +goose StatementEnd
