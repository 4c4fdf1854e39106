-- Waits for all who share it, and keeps others out.
SELECT id FROM meter_generation WHERE id = 1 FOR UPDATE
