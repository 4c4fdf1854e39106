INSERT INTO reprise_schema (version_id, is_applied)
SELECT 0, true FROM (SELECT COUNT(*) AS n FROM reprise_schema) AS noted WHERE n = 0;
