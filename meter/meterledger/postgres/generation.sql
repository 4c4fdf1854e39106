-- The current generation, the last day of which rows were purged, and since when the generation is current.
SELECT generation, purged, since FROM reprise.meter_generation WHERE id = 1
