-- $1 the last day of which rows are purged. An earlier one than before changes nothing.
UPDATE meter_generation SET purged = GREATEST(purged, $1) WHERE id = 1
