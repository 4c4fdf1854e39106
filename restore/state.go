package restore

// State is how far a session is. Each step is done by the process that manages the session, or by all that work on
// it, and can be done again from its beginning.
type State string

// The states of a session, in their order. docs/restore.md has the table.
const (
	Closing    State = "closing"    // the gate is being closed
	Draining   State = "draining"   // what was let through ends
	Renewing   State = "renewing"   // the target system gets a new generation, and the fence
	Planning   State = "planning"   // targets are listed
	Applying   State = "applying"   // a phase is being done
	Verifying  State = "verifying"  // everything is compared
	Correcting State = "correcting" // what was found is put right, and then verified again
	Cleaning   State = "cleaning"   // what only the restore needed is removed
	Reopening  State = "reopening"  // the gate is being opened
	Cancelling State = "cancelling" // late writes are being shut out
	Finished   State = "done"       // complete, verified, and open
	Cancelled  State = "cancelled"
)

// Over reports whether nothing is to be done any more.
func (s State) Over() bool { return s == Finished || s == Cancelled }

// renewed reports whether the target system has the session's generation, or has lost it.
func (s State) renewed() bool {
	switch s {
	case Planning, Applying, Verifying, Correcting, Cleaning, Reopening:
		return true
	}
	return false
}

// worked reports whether workers have something to do.
func (s State) worked() bool { return s == Applying || s == Verifying }
