-- The current generation.
SELECT generation FROM meter_generation WHERE id = 1
