-- Keeps a generation from beginning until the transaction ends.
SELECT id FROM meter_generation WHERE id = 1 LOCK IN SHARE MODE
