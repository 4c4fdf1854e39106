-- The time as in look.sql, in a row of its own, and the records of some keys.
SELECT reprise_start(), NULL, NULL, NULL, NULL, NULL
UNION ALL
SELECT 0, digest, claimed_at, forget_at, record, answer
FROM reprise_record FORCE INDEX (reprise_record_digest) WHERE digest IN ([?])
