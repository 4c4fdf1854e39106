UPDATE reprise.reprise_open SET claimed_at = $3, forget_at = $4, record = $5, answer = $6, awaited = awaited AND $7
WHERE head = $1 AND tail = $2
