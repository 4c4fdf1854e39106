-- Fails where there is no transaction.
RELEASE SAVEPOINT reprise_effect
