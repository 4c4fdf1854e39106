-- $1 schema. Which parts of the latest schema are missing, in a list, and whether any of its tables is there.
SELECT coalesce(string_agg(part, ', ' ORDER BY part) FILTER (WHERE NOT there), ''), bool_or(there AND NOT called)
FROM (
    SELECT name AS part, false AS called, EXISTS (SELECT FROM pg_class WHERE relkind = 'r' AND relname = name AND relnamespace = to_regnamespace($1)) AS there
    FROM unnest(ARRAY['reprise_open', 'reprise_answered', 'reprise_secret']) AS name
    UNION ALL
    SELECT name || '()', true, EXISTS (SELECT FROM pg_proc WHERE proname = name AND pronamespace = to_regnamespace($1))
    FROM unnest(ARRAY['reprise_clock', 'reprise_instant', 'reprise_begin', 'reprise_commit']) AS name
) AS parts
