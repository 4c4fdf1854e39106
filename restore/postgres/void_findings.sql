-- $1 session. What corrections have replaced in a life that was lost is gone with it: nothing of it is put back into another one.
UPDATE reprise.restore_findings SET old = NULL WHERE session = $1 AND old IS NOT NULL
