-- +goose Up
-- +goose NO TRANSACTION

-- One row: how old and how far ahead an event may be, in microseconds. What is kept in Redis, and for how long, follows from it.
CREATE TABLE IF NOT EXISTS meter_horizon (
    id        TINYINT NOT NULL PRIMARY KEY,
    retention BIGINT  NOT NULL, -- 0: nobody has said it yet
    tolerance BIGINT  NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
INSERT IGNORE INTO meter_horizon VALUES (1, 0, 0);
