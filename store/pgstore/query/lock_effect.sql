-- As lock.sql, for an effect: who finds the key held can tell by the second lock that it is an effect that
-- holds it. The second is never waited for longer than it takes to look at it. The last column tells this transaction
-- from any other one of the session.
SELECT CASE WHEN pg_try_advisory_xact_lock($1) AND pg_advisory_xact_lock($2, $3) IS NOT NULL THEN reprise.reprise_clock(clock_timestamp()) END,
    current_setting('transaction_isolation'), now()
