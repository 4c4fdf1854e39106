-- $1 first month. What all rows of months since then sum up to: events, when the first and the last happened, and bytes of each kind of allowance.
SELECT COUNT(*), COALESCE(MIN(d.occurred_at), 0), COALESCE(MAX(d.occurred_at), 0), COALESCE(SUM(d.individual), 0), COALESCE(SUM(d.shared), 0), COALESCE(SUM(d.qos), 0)
FROM meter_done d WHERE d.month >= $1
