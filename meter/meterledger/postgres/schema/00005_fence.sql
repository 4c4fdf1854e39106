-- +goose Up

-- One row: the highest epoch of a restore that is known here. Whoever has an older one changes neither the gate nor what holds folds.
CREATE TABLE reprise.meter_fence (
    id    smallint PRIMARY KEY CHECK (id = 1),
    epoch bigint NOT NULL
);
INSERT INTO reprise.meter_fence VALUES (1, 0);
