-- +goose Up

-- Grants of months that are not due wait here, and are not to be looked through again and again.
DROP INDEX reprise.meter_grants_unconfirmed;
CREATE INDEX meter_grants_unconfirmed ON reprise.meter_grants (month, id) WHERE generation IS NULL;
