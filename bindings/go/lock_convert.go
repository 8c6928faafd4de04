// SPDX-License-Identifier: MIT
// Options of an acquire as C wants them, in memory that lives as long as the call.

package liblock

// #include "bridge.h"
import "C"

import (
	"unsafe"

	"liblock.dev/go/internal/raw"
)

func init() {
	raw.FillWithRubbish = func(on bool) {
		rubbish := C.int32_t(0)
		if on {
			rubbish = 1
		}
		C.bridge_set_rubbish(rubbish)
	}
	raw.InContext = func(lock, context interface{}) interface{} {
		l := lock.(*Lock)
		return &Lock{c: context.(*Context), handle: l.handle, token: l.token}
	}
}

// The defaults, as the library's own init function says them.
var lockDefaults = func() raw.Acquire {
	var o C.liblock_acquire_options
	C.liblock_acquire_options_init(&o, C.sizeof_liblock_acquire_options)
	return raw.Acquire{
		TTLMs: int64(o.ttl_ms), WaitMs: int64(o.wait_ms), Retries: int64(o.retries),
		RetryIntervalMs: int64(o.retry_interval_ms), RetryJitterMs: int64(o.retry_jitter_ms),
		BackoffStepMs: int64(o.backoff_step_ms), BackoffCapMs: int64(o.backoff_cap_ms),
		AgeStepMs: int64(o.age_step_ms), QueueTTLMs: int64(o.queue_ttl_ms), MaxHoldMs: int64(o.max_hold_ms),
		MinRemainingMs: int64(o.min_remaining_ms), ReplicasTimeoutMs: int64(o.replicas_timeout_ms),
		Backoff: int32(o.backoff), BackoffBase: int32(o.backoff_base), Order: int32(o.order),
		Priority: int32(o.priority), Mode: int32(o.mode), OnConflict: int32(o.on_conflict),
		OnDeadlock: int32(o.on_deadlock), Renew: int32(o.renew), Replicas: int32(o.replicas),
		Instrument: int32(o.instrument), BusyInfo: int32(o.busy_info), Votes: int32(o.votes),
		OnNodesMismatch: int32(o.on_nodes_mismatch), EventTag: uint64(o.event_tag),
	}
}()

func readLockOptions(options []LockOption) *lockOptions {
	o := &lockOptions{Acquire: lockDefaults}
	for _, option := range options {
		option(o)
	}
	o.isDefaults = o.Acquire == lockDefaults && o.owner == nil && !o.thread && !o.notify && o.value == nil &&
		o.metadata == nil && o.nodes == nil && o.backoff == nil && o.queued == nil && o.noticesTo == nil
	return o
}

// enter keeps what the options name alive for a call; false when some of it is closed.
func (o *lockOptions) enter() (leave func(), ok bool) {
	if o.owner == nil && o.noticesTo == nil {
		return func() {}, true
	}
	if o.owner != nil && !o.owner.enter() {
		return nil, false
	}
	if o.noticesTo != nil && !o.noticesTo.enter() {
		if o.owner != nil {
			o.owner.leave()
		}
		return nil, false
	}
	return func() {
		if o.owner != nil {
			o.owner.leave()
		}
		if o.noticesTo != nil {
			o.noticesTo.leave()
		}
	}, true
}

// triesOnce says that the options let nobody wait.
func (o *lockOptions) triesOnce() bool { return o.WaitMs == 0 || o.Acquire.Retries == 0 }

// native writes the options for one call. The struct is C memory, since it points at C memory.
func (o *lockOptions) native(a *arena) *C.liblock_acquire_options {
	n := (*C.liblock_acquire_options)(a.get(C.sizeof_liblock_acquire_options))
	C.liblock_acquire_options_init(n, C.sizeof_liblock_acquire_options)
	n.ttl_ms, n.wait_ms, n.retries = C.int64_t(o.TTLMs), C.int64_t(o.WaitMs), C.int64_t(o.Acquire.Retries)
	n.retry_interval_ms, n.retry_jitter_ms = C.int64_t(o.RetryIntervalMs), C.int64_t(o.RetryJitterMs)
	n.backoff, n.backoff_base = C.int32_t(o.Acquire.Backoff), C.int32_t(o.BackoffBase)
	n.backoff_step_ms, n.backoff_cap_ms = C.int64_t(o.BackoffStepMs), C.int64_t(o.BackoffCapMs)
	n.order, n.priority, n.age_step_ms = C.int32_t(o.Order), C.int32_t(o.Acquire.Priority), C.int64_t(o.AgeStepMs)
	n.queue_ttl_ms, n.mode = C.int64_t(o.QueueTTLMs), C.int32_t(o.Mode)
	n.on_conflict, n.on_deadlock = C.int32_t(o.Acquire.OnConflict), C.int32_t(o.Acquire.OnDeadlock)
	n.renew, n.max_hold_ms = C.int32_t(o.Acquire.Renew), C.int64_t(o.MaxHoldMs)
	n.min_remaining_ms = C.int64_t(o.MinRemainingMs)
	n.replicas, n.replicas_timeout_ms = C.int32_t(o.Acquire.Replicas), C.int64_t(o.ReplicasTimeoutMs)
	n.instrument, n.event_tag = C.int32_t(o.Acquire.Instrument), C.uint64_t(o.Acquire.EventTag)
	n.busy_info, n.votes = C.int32_t(o.Acquire.BusyInfo), C.int32_t(o.Votes)
	n.on_nodes_mismatch = C.int32_t(o.OnNodesMismatch)
	o.point(n, a)
	return n
}

func (o *lockOptions) point(n *C.liblock_acquire_options, a *arena) {
	if o.owner != nil {
		n.owner = o.owner.handle
	}
	if o.thread {
		C.bridge_own_by_thread(n)
	}
	if o.value != nil {
		value := a.bytes(string(o.value))
		n.value, n.value_size = value.data, value.size
	}
	if len(o.metadata) > 0 {
		n.metadata = (*C.liblock_metadata)(a.get(uintptr(len(o.metadata)) * C.sizeof_liblock_metadata))
		entries := unsafe.Slice(n.metadata, len(o.metadata))
		for name, value := range o.metadata {
			entries[n.metadata_count] = C.liblock_metadata{name: a.bytes(name), value: a.bytes(string(value))}
			n.metadata_count++
		}
	}
	if o.nodes != nil {
		n.nodes, n.node_count = a.texts(o.nodes), C.size_t(len(o.nodes))
	}
	if o.noticesTo != nil {
		n.completions = o.noticesTo.handle
	}
}
