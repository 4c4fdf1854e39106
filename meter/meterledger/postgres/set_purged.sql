-- $1 the last day of which rows are purged. An earlier one than before changes nothing.
UPDATE reprise.meter_generation SET purged = greatest(purged, $1) WHERE id = 1
