-- The zone and the day on which months begin, 0 for none.
SELECT zone, anchor FROM meter_calendar WHERE id = 1
