-- $1 name. The lock under which a schema is changed. Returns 1 when it is had.
SELECT GET_LOCK($1, 600)
