-- All apps.
SELECT id FROM reprise.meter_apps ORDER BY id
