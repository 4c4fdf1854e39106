SELECT max(version_id) FROM reprise.reprise_schema WHERE is_applied
