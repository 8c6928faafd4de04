// SPDX-License-Identifier: MIT

package liblock

// #include "bridge.h"
import "C"

// Stats are the counters of the table since it was made, and present sizes.
type Stats struct {
	LocksHeld           uint64 // keys; the global lock is one
	Waiters             uint64
	Acquired            uint64 // grants, reentries included
	Released            uint64 // by the holder
	Contended           uint64 // acquires that had to queue
	HandedOff           uint64 // grants made directly to a waiter
	Expired             uint64 // leases that ended while held
	TakenAway           uint64 // by ForceRelease and Clear
	TakenOver           uint64 // overdue locks ended by whoever wanted the key
	Timeouts            uint64
	Canceled            uint64
	Deadlocks           uint64
	DeadlockSearches    uint64
	Renewals            uint64
	Sweeps              uint64
	SweepEntries        uint64
	SweepEntriesPerHold uint64 // the most that were looked at while one shard was held
	DroppedNotices      uint64 // (this context) losses that found their completion queue full
	DroppedEvents       uint64 // (this context) events that found too many others waiting
	PassedOn            uint64 // of HandedOff, those that no server was asked for (Front)
}

// Stats reads the counters; on a server those of this context.
func (c *Context) Stats() (Stats, error) {
	if !c.enter() {
		return Stats{}, closedError("stats")
	}
	defer c.leave()
	var s C.liblock_stats
	C.liblock_stats_init(&s, C.sizeof_liblock_stats)
	status := Status(C.liblock_stats_get(c.handle, &s))
	return Stats{
		LocksHeld: uint64(s.locks_held), Waiters: uint64(s.waiters), Acquired: uint64(s.acquired),
		Released: uint64(s.released), Contended: uint64(s.contended), HandedOff: uint64(s.handed_off),
		Expired: uint64(s.expired), TakenAway: uint64(s.taken_away), TakenOver: uint64(s.taken_over),
		Timeouts: uint64(s.timeouts), Canceled: uint64(s.canceled), Deadlocks: uint64(s.deadlocks),
		DeadlockSearches: uint64(s.deadlock_searches), Renewals: uint64(s.renewals), Sweeps: uint64(s.sweeps),
		SweepEntries: uint64(s.sweep_entries), SweepEntriesPerHold: uint64(s.sweep_entries_per_hold_max),
		DroppedNotices: uint64(s.dropped_notices), DroppedEvents: uint64(s.dropped_events),
		PassedOn: uint64(s.passed_on),
	}, statusError("stats", status)
}

// Prometheus writes the statistics and both histograms in Prometheus' text format.
func (c *Context) Prometheus() (string, error) {
	if !c.enter() {
		return "", closedError("stats_prometheus")
	}
	defer c.leave()
	text, status := grown(func(buffer *C.char, size C.size_t, needed *C.size_t) Status {
		return Status(C.liblock_stats_prometheus(c.handle, buffer, size, needed))
	})
	return text, statusError("stats_prometheus", status)
}

// Measure names a histogram.
type Measure int32

// The histograms; they count while Instruments.Histograms is on.
const (
	MeasureAcquire Measure = C.LIBLOCK_HISTOGRAM_ACQUIRE // from the call to the grant, of granted acquires
	MeasureHold    Measure = C.LIBLOCK_HISTOGRAM_HOLD    // from the grant to its end
)

// Histogram is how many of the measured durations were so long: bucket n counts those above 2^(n-1) and up to 2^n
// microseconds; the first also 0, the last everything longer.
type Histogram struct {
	Count, SumUs uint64
	Buckets      [C.LIBLOCK_HISTOGRAM_BUCKETS]uint64
}

// Histogram reads one of the histograms of this context.
func (c *Context) Histogram(which Measure) (Histogram, error) {
	if !c.enter() {
		return Histogram{}, closedError("histogram")
	}
	defer c.leave()
	var h C.liblock_histogram
	C.liblock_histogram_init(&h, C.sizeof_liblock_histogram)
	status := Status(C.liblock_histogram_get(c.handle, C.int32_t(which), &h))
	out := Histogram{Count: uint64(h.count), SumUs: uint64(h.sum_us)}
	for i := range out.Buckets {
		out.Buckets[i] = uint64(h.buckets[i])
	}
	return out, statusError("histogram", status)
}
