-- Stands before a statement that is to be explained.
EXPLAIN
