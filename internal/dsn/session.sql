-- What statements rely on, whatever is set for the server, its users or in their configuration files. Else a statement may not be committed
-- when it is answered (autocommit, completion_type), reading may end before the end (sql_select_limit), and two rows may have one key
-- (unique_checks).
SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', sql_select_limit = 18446744073709551615, unique_checks = 1, sql_safe_updates = 0, sql_big_selects = 1,
    sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'
