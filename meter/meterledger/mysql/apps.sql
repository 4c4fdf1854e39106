-- All apps.
SELECT id FROM meter_apps ORDER BY id
