-- +goose Up

-- One row: the calendar that days and months here are of.
CREATE TABLE reprise.meter_calendar (
    id     smallint PRIMARY KEY CHECK (id = 1),
    zone   text COLLATE "C" NOT NULL, -- by its name in the IANA database
    anchor integer NOT NULL           -- the day on which months begin; 0: nobody has said it yet
);
INSERT INTO reprise.meter_calendar VALUES (1, '', 0);
