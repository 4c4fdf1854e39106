SELECT reprise.reprise_begin($1, $2, $3, $4, $5, $6, $7)
