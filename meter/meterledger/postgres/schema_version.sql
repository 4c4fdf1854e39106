-- The version of the schema.
SELECT max(version_id) FROM reprise.meter_schema WHERE is_applied
