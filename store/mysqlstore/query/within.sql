-- Ends the batch with an error, and so before its COMMIT, unless the time is within the bounds of the group's new records, now that their
-- keys are locked: of a sum that no number can hold.
SET @reprise_within = 1 + IF(reprise_clock() < ? AND @reprise_at >= ?, 0, 9223372036854775807);
