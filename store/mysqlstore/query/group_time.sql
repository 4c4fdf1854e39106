-- The time of a group's records.
SET @reprise_at = reprise_clock();
