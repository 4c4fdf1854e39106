-- Takes the lock of a key until the transaction ends, if it is free, and then reads the time; NULL if it is
-- not. Also tells the transaction's isolation.
SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN reprise.reprise_clock(clock_timestamp()) END,
    current_setting('transaction_isolation')
