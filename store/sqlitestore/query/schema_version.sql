SELECT max(version_id) FROM reprise_schema WHERE is_applied
