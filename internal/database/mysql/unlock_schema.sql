-- $1 name. Gives it back, where the end of the transaction does not.
DO RELEASE_LOCK($1)
