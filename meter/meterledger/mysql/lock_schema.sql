-- The lock under which the schema is changed. Returns 1 when it is had.
SELECT GET_LOCK('reprise.meter.migrate', 600)
