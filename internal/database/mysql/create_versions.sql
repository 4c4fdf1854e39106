-- The table in which migrations are noted, as goose makes it.
CREATE TABLE VERSIONS (
    id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    version_id BIGINT NOT NULL,
    is_applied BOOLEAN NOT NULL,
    tstamp     TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP
) ENGINE = InnoDB;
INSERT INTO VERSIONS (version_id, is_applied) VALUES (0, true);
