-- As look.sql, if there is an answer; no row otherwise.
SELECT reprise.reprise_clock(transaction_timestamp()), true, claimed_at, forget_at, record, answer
FROM reprise.reprise_answered WHERE head = $1 AND tail = $2
