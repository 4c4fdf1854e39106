-- Lets others see that it is an effect that holds the key.
UPDATE reprise_record SET effect = ? WHERE digest = ?
