-- Makes new records: all, or none if one of their keys has one.
INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record)
VALUES [(LAST_INSERT_ID(@reprise_at), ?, @reprise_at, IF(? = 0, 0, @reprise_at + ?), ?)];
