GRANT SELECT ON reprise_schema TO reprise_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON reprise_record TO reprise_service;
GRANT SELECT, INSERT, UPDATE ON reprise_secret TO reprise_service;
