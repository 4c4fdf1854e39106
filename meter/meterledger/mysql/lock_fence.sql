-- The highest epoch of a restore, which nobody else raises until the transaction ends.
SELECT epoch FROM meter_fence WHERE id = 1 FOR UPDATE
