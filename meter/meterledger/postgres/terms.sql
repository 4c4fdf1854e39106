-- The zone, the day on which months begin, 0 for none, the retention in microseconds, 0 for none, and the tolerance.
SELECT c.zone, c.anchor, h.retention, h.tolerance FROM reprise.meter_calendar c JOIN reprise.meter_horizon h ON h.id = c.id
