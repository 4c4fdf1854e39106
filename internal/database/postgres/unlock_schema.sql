-- $1 name. Gives it back, where the end of the transaction does not.
SELECT $1::text
