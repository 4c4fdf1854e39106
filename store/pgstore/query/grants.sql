GRANT USAGE ON SCHEMA reprise TO reprise_service;
GRANT SELECT ON reprise.reprise_schema TO reprise_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON reprise.reprise_open, reprise.reprise_answered TO reprise_service;
GRANT SELECT, INSERT, UPDATE ON reprise.reprise_secret TO reprise_service;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA reprise TO reprise_service;
