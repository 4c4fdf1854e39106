package machine

import "time"

// Step decides a command. A nil record is an absent key. It returns the record as it is to be stored:
// the very pointer that was passed in when nothing changes, nil when the record is to be deleted.
//
// now is the store's time, read after the record was locked against other commands.
func Step(record *Record, command Command, now time.Time) (next *Record, reply Reply) {
	at := InstantOf(now)
	if reason := command.Invalid(); reason != "" {
		return record, Reply{Outcome: Invalid, At: at, Reason: reason}
	}
	switch c := command.(type) {
	case Claim:
		return claim(record, c, nil, at)
	case Begin:
		return claim(record, c.Claim, &c.Nonce, at)
	case Start:
		return start(record, c, at)
	case Renew:
		return renew(record, c, at)
	case Complete:
		return complete(record, c, at)
	case Fail:
		return fail(record, c, at)
	case Release:
		return release(record, c, at)
	case Settle:
		return settle(record, c, at)
	case Inspect:
		return inspect(record, at)
	case Forget:
		return forget(record, at)
	}
	return record, Reply{Outcome: Invalid, At: at, Reason: "unknown command"}
}

func inspect(record *Record, at Instant) (*Record, Reply) {
	if state, _ := record.Judge(at); state == Absent {
		return record, Reply{Outcome: NotFound, At: at}
	}
	reply := answer(Found, record, at)
	reply.Record = record
	return record, reply
}

func forget(record *Record, at Instant) (*Record, Reply) {
	if record == nil {
		return nil, Reply{Outcome: NotFound, At: at}
	}
	if !record.forgotten(at) {
		return record, answer(Remembered, record, at)
	}
	return nil, Reply{Outcome: Forgotten, At: at}
}
