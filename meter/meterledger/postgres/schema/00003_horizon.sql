-- +goose Up

-- One row: how old and how far ahead an event may be, in microseconds. What is kept in Redis, and for how long, follows from it.
CREATE TABLE reprise.meter_horizon (
    id        smallint PRIMARY KEY CHECK (id = 1),
    retention bigint NOT NULL, -- 0: nobody has said it yet
    tolerance bigint NOT NULL
);
INSERT INTO reprise.meter_horizon VALUES (1, 0, 0);
