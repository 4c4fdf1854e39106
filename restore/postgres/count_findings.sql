-- $1 session, $2 round. How many findings there are of each outcome.
SELECT outcome, count(*) FROM reprise.restore_findings WHERE session = $1 AND round = $2 GROUP BY outcome
