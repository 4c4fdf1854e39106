-- Lines, families, apps, lines in no family, grants that are not confirmed, events in the inbox.
SELECT (SELECT COUNT(*) FROM meter_lines), (SELECT COUNT(*) FROM meter_families), (SELECT COUNT(*) FROM meter_apps),
    (SELECT COUNT(*) FROM meter_members WHERE until_at = 9223372036854775807 AND family = ''),
    (SELECT COUNT(*) FROM meter_grants WHERE generation IS NULL), (SELECT COUNT(*) FROM meter_inbox)
