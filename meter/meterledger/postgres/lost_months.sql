-- $1 first month. What all rows of months since then sum up to: events, when the first and the last happened, and bytes of each kind of allowance.
SELECT count(*), coalesce(min(d.occurred_at), 0), coalesce(max(d.occurred_at), 0), coalesce(sum(d.individual), 0), coalesce(sum(d.shared), 0), coalesce(sum(d.qos), 0)
FROM reprise.meter_done d WHERE d.month >= $1
