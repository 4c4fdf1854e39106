-- +goose Up
-- +goose NO TRANSACTION

-- One row: the calendar that days and months here are of.
CREATE TABLE IF NOT EXISTS meter_calendar (
    id     TINYINT       NOT NULL PRIMARY KEY,
    zone   VARBINARY(64) NOT NULL, -- by its name in the IANA database
    anchor INT           NOT NULL  -- the day on which months begin; 0: nobody has said it yet
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
INSERT IGNORE INTO meter_calendar VALUES (1, '', 0);
