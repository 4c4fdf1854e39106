-- The current generation.
SELECT generation FROM reprise.meter_generation WHERE id = 1
