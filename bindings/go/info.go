// SPDX-License-Identifier: MIT
// What is known of a key, copied out of the library.

package liblock

// #include "bridge.h"
import "C"

import "time"

// Info is a snapshot of one key: its holder, and where asked for its waiters.
type Info struct {
	Key         string
	IsGlobal    bool // the global lock; the key is empty
	IsHeld      bool
	IsZombie    bool // the holder's instance is gone
	Owner       string
	HasOwner    bool
	Instance    string
	HasInstance bool
	Host        string
	Token       uint64
	Since       time.Time     // when the hold began; zero = not known (a plain local lock asks no clock)
	InitialTTL  time.Duration // of the grant; Forever = no expiry, 0 = not known
	Remaining   time.Duration // Forever = no expiry
	HoldCount   int           // servers: more than 1 of own locks only
	Value       []byte
	Metadata    map[string][]byte
	WaiterCount int
	Waiters     []Waiter // in the order of service; of a server by InspectQueue, 65,536 at most, of a quorum 200
}

// Waiter is one who waits for a key.
type Waiter struct {
	Owner    string
	Instance string
	Since    time.Time // when it was queued; zero = not known
	Waited   time.Duration
	Order    Order
	Priority int32
}

// takeInfo copies an info and frees it.
func takeInfo(info *C.liblock_info) *Info {
	defer C.liblock_info_free(info)
	return infoOf(info)
}

func infoOf(info *C.liblock_info) *Info {
	var r C.bridge_info
	C.bridge_info_read(info, &r)
	out := &Info{
		Key: goString(r.key), IsGlobal: r.is_global != 0, IsHeld: r.is_held != 0, IsZombie: r.is_zombie != 0,
		Owner: goString(r.owner), HasOwner: r.has_owner != 0, Instance: goString(r.instance),
		HasInstance: r.has_instance != 0, Host: goString(r.host), Token: uint64(r.token),
		Since: timeOfUs(int64(r.since_us)), InitialTTL: fromMs(int64(r.initial_ttl_ms)),
		Remaining: fromMs(int64(r.remaining_ms)), HoldCount: int(r.hold_count), Value: goBytes(r.value),
		Metadata: map[string][]byte{}, WaiterCount: int(r.waiter_count),
	}
	for i := C.size_t(0); i < r.metadata_count; i++ {
		var entry C.liblock_metadata
		if Status(C.liblock_info_metadata_at(info, i, &entry)) == OK {
			out.Metadata[goString(entry.name)] = goBytes(entry.value)
		}
	}
	for i := C.size_t(0); i < r.waiter_count; i++ {
		var w C.bridge_waiter
		C.bridge_info_waiter(info, i, &w)
		if w.order < 0 { // lists of a server count the waiters and name none
			break
		}
		out.Waiters = append(out.Waiters, Waiter{
			Owner: goString(w.owner), Instance: goString(w.instance), Since: timeOfUs(int64(w.since_us)),
			Waited: fromMs(int64(w.waited_ms)), Order: Order(w.order), Priority: int32(w.priority),
		})
	}
	return out
}
