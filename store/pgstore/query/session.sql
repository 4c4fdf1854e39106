-- What every connection of the store relies on, whatever is set for its role or database: an acknowledged
-- command is on the disk, each statement sees what is committed, and plans, which are made once, use the
-- indexes, also if the tables were small then.
SELECT set_config('default_transaction_isolation', 'read committed', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('jit', 'off', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
