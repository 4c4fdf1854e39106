-- The current generation, and the last day of which rows were purged.
SELECT generation, purged FROM meter_generation WHERE id = 1
