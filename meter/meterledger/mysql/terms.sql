-- The zone, the day on which months begin, 0 for none, the retention in microseconds, 0 for none, and the tolerance.
SELECT c.zone, c.anchor, h.retention, h.tolerance FROM meter_calendar c JOIN meter_horizon h ON h.id = c.id
