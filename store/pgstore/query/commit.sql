SELECT new_at, new_written, end_at, end_written
FROM reprise.reprise_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
