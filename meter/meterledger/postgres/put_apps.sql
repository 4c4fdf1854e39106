-- $1 apps.
INSERT INTO reprise.meter_apps (id, added_at)
SELECT id, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM json_array_elements_text($1::json) AS k (id) ORDER BY id COLLATE "C" ON CONFLICT DO NOTHING
