SELECT MAX(version_id) FROM reprise_schema WHERE is_applied
