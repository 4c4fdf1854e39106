-- Keeps a generation from beginning until the transaction ends.
LOCK TABLE reprise.meter_generation IN ROW SHARE MODE
