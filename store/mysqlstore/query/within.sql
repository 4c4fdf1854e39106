-- Ends the batch with an error, and so before its COMMIT, unless the time is within the bounds of the group's new records, now that their
-- keys are locked: a subquery of two rows where a value is wanted.
SET @reprise_within = IF(reprise_clock() < ? AND @reprise_at >= ?, 1, (SELECT 1 UNION ALL SELECT 2));
