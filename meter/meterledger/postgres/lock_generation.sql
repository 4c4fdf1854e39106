-- Waits for all who share it, and keeps others out.
LOCK TABLE reprise.meter_generation IN EXCLUSIVE MODE
