-- Is there to be released in a transaction. Outside of any it is gone with its statement.
SAVEPOINT reprise_effect
