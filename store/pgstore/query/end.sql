-- Writes the answer of a record that is still the one that the caller remembers. Returns its time; no row
-- if the record is another one, or its key is held. The row itself is compared as it is under its lock, so
-- that an older snapshot does no harm.
WITH ended AS (
    DELETE FROM reprise.reprise_open
    WHERE head = $1 AND tail = $2 AND claimed_at = $4 AND record = $5 AND pg_try_advisory_xact_lock($3)
    RETURNING claimed_at, CASE WHEN awaited THEN pg_notify('reprise.changed', replace($1::text || $2::text, '-', '')) END
)
INSERT INTO reprise.reprise_answered (head, tail, claimed_at, forget_at, record, answer)
SELECT $1, $2, claimed_at, reprise.reprise_instant(clock_timestamp()) + $8, $6, $7 FROM ended
RETURNING forget_at - $8
