-- What every connection relies on, whatever is set for its role or database, unless a PgBouncer is in between: plans, which
-- are made once and used again when tables have grown, are served by indexes alone; a process that stops in the middle of a
-- transaction is not waited for longer than $1 milliseconds.
SELECT set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false),
    set_config('jit', 'off', false), set_config('idle_in_transaction_session_timeout', $1::text, false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
