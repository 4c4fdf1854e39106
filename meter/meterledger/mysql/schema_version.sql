-- The version of the schema.
SELECT MAX(version_id) FROM meter_schema WHERE is_applied
