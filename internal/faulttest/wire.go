package faulttest

// Fault is what goes wrong with one I/O.
type Fault int

// The faults. A wire knows those that make sense on it.
const (
	// Refused: it is not done, and whoever asked is told so.
	Refused Fault = iota + 1
	// RequestLost: it is not done, and whoever asked cannot know.
	RequestLost
	// RequestCut: the first half of it is done, and whoever asked cannot know.
	RequestCut
	// ReplyLost: it is done, and whoever asked cannot know.
	ReplyLost
	// ReplyCut: it is done, and whoever asked gets the first half of the reply.
	ReplyCut
	// Silent: it is done, and nobody ever says so: whoever asked waits until its time is over.
	Silent
	// Twice: it is done twice, and answered once.
	Twice
	// Copied: it is done and answered, and a copy of it is done when [Wire.Release] is called.
	Copied
	// Held: it is done when [Wire.Release] is called. Whoever asked is long gone by then.
	Held
	// Died: whoever asked is dead from then on: neither it nor anything after it is done.
	Died
	// DiedAfter: it is the last that is done, and whoever asked does not learn of it.
	DiedAfter
)

var faultNames = [...]string{"no fault", "refused", "request lost", "request cut", "reply lost", "reply cut", "silent", "twice", "copied late", "held", "died", "died after"}

// String returns the fault's name.
func (f Fault) String() string { return faultNames[f] }

// slow reports whether somebody has to wait for his time to be over.
func (f Fault) slow() bool { return f == Silent || f == Held || f.fatal() }

// fatal reports whether the process is dead after it.
func (f Fault) fatal() bool { return f == Died || f == DiedAfter }

// copies reports whether the store may be given a command twice by it.
func (f Fault) copies() bool { return f == Twice || f == Copied || f == Held }

// Wire is what lies between a handle on a store and its data, where I/Os are counted and broken: a network,
// or a file system. All I/Os of one handle go over it, and no others. Its methods are called by one
// goroutine, apart from Struck.
type Wire interface {
	// Faults are those that it knows.
	Faults() []Fault
	// Break lets the n-th I/O from now on, counted from 1, suffer a fault; n = 0 mends everything. It
	// begins to count anew. What was held before is let go.
	Break(n int, fault Fault)
	// Storm lets one I/O of so many on average suffer a fault that cuts or loses it, chosen by a seed.
	Storm(seed uint64, oneOf int)
	// IOs returns how many I/Os there were since Break.
	IOs() int
	// Struck reports whether a fault has struck since Break. Any goroutine may ask.
	Struck() bool
	// Release lets what is held or copied be done, and returns when it is.
	Release()
}
