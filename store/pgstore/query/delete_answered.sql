DELETE FROM reprise.reprise_answered WHERE head = $1 AND tail = $2
