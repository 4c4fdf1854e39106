-- Locks the row of a key, in a transaction that does not see what was committed after its snapshot: if somebody
-- has changed it since, the server refuses.
SELECT (SELECT true FROM reprise.reprise_answered WHERE head = $1 AND tail = $2 FOR UPDATE),
    (SELECT true FROM reprise.reprise_open WHERE head = $1 AND tail = $2 FOR UPDATE)
