-- One process at a time does something in this database. 0: it took somebody else too long.
SELECT GET_LOCK(CONCAT(?, '.', LEFT(SHA2(DATABASE(), 256), 32)), ?)
