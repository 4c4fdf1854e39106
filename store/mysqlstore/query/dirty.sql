-- What somebody's open transaction has written is seen by the next statement.
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
