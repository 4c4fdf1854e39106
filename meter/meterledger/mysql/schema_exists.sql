-- What there is before the schema is made.
SELECT VERSION()
