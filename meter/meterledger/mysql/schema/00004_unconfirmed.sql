-- +goose Up
-- +goose NO TRANSACTION

-- Grants of months that are not due wait here, and are not to be looked through again and again. One statement, which can be repeated.
ALTER TABLE meter_grants DROP INDEX meter_grants_unconfirmed, ADD INDEX meter_grants_unconfirmed (generation, month, id);
