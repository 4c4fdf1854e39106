DELETE FROM reprise.reprise_open WHERE head = $1 AND tail = $2
