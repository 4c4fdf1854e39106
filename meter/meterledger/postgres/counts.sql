-- Lines, families, apps, lines in no family, grants that are not confirmed, events in the inbox.
SELECT (SELECT count(*) FROM reprise.meter_lines), (SELECT count(*) FROM reprise.meter_families), (SELECT count(*) FROM reprise.meter_apps),
    (SELECT count(*) FROM reprise.meter_members WHERE until_at = 9223372036854775807 AND family = ''),
    (SELECT count(*) FROM reprise.meter_grants WHERE generation IS NULL), (SELECT count(*) FROM reprise.meter_inbox)
