-- +goose Up
-- +goose NO TRANSACTION

-- One row: the highest epoch of a restore that is known here. Whoever has an older one changes neither the gate nor what holds folds.
CREATE TABLE IF NOT EXISTS meter_fence (
    id    TINYINT NOT NULL PRIMARY KEY,
    epoch BIGINT  NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
INSERT IGNORE INTO meter_fence VALUES (1, 0);
