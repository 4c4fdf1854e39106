-- Whether this is still the transaction that began then.
SELECT now() = $1
