-- What there is before a schema is made.
SELECT VERSION()
