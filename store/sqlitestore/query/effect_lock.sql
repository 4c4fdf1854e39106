-- Takes the file's write lock, and changes nothing.
DELETE FROM main.reprise_secret WHERE 0
