// SPDX-License-Identifier: MIT
// Verbs that look: at locks, keys, queues and lists.

package main

import (
	"sort"
	"strings"
	"time"

	liblock "liblock.dev/go"
)

// Verbs that only look: is_locked, inspect, lists, waits on a key, statistics.

func performIsLocked(c *call) {
	locked, err := c.slot.c.IsLocked(background, c.key())
	if c.tellStatus(err) == liblock.OK {
		c.tell("locked", locked)
	}
}

func performIsQueued(c *call) {
	queued, err := c.slot.c.IsQueued(background, c.key())
	if c.tellStatus(err) == liblock.OK {
		c.tell("queued", queued)
	}
}

func queueShown(info *liblock.Info) []interface{} {
	queue := []interface{}{}
	for _, w := range info.Waiters {
		waiter := newObject().set("waited_ms", whole(w.Waited.Milliseconds())).
			set("priority", whole(int64(w.Priority))).set("order", orderName(w.Order))
		if w.Owner != "" {
			waiter.set("owner", bytesShown(w.Owner))
		}
		if w.Instance != "" {
			waiter.set("instance", bytesShown(w.Instance))
		}
		queue = append(queue, waiter)
	}
	return queue
}

func (c *call) tellInfo(info *liblock.Info) {
	c.tell("key", bytesShown(info.Key))
	c.tell("held", info.IsHeld)
	c.tell("global", info.IsGlobal)
	c.tell("zombie", info.IsZombie)
	if info.HasOwner {
		c.tell("owner", bytesShown(info.Owner))
	}
	if info.HasInstance {
		c.tell("instance", bytesShown(info.Instance))
	}
	c.tell("value", bytesShown(string(info.Value)))
	c.tell("token", wholeU(info.Token))
	heldFor := int64(-1)
	if !info.Since.IsZero() {
		heldFor = time.Since(info.Since).Milliseconds()
	}
	c.tell("held_for_ms", whole(heldFor))
	c.tell("initial_ttl_ms", whole(info.InitialTTL.Milliseconds()))
	c.tell("remaining_ms", whole(info.Remaining.Milliseconds()))
	c.tell("hold_count", whole(int64(info.HoldCount)))
	names := make([]string, 0, len(info.Metadata))
	for name := range info.Metadata {
		names = append(names, name)
	}
	sort.Strings(names)
	metadata := newObject()
	for _, name := range names {
		metadata.set(name, bytesShown(string(info.Metadata[name])))
	}
	c.tell("metadata", metadata)
	c.tell("waiter_count", whole(int64(info.WaiterCount)))
	c.tell("queue", queueShown(info))
}

func performInspect(c *call) {
	var result liblock.Result
	ctx := liblock.WithResult(background, &result)
	var info *liblock.Info
	var err error
	switch {
	case c.name == "inspect_queue":
		info, err = c.slot.c.InspectQueue(ctx, c.key())
	case !c.world.isLocal() && c.number%2 == 0: // every other one by the asynchronous twin
		ctx = background
		info, err = c.slot.c.Inspect(ctx, c.key())
	default:
		info, err = c.slot.c.Inspect(ctx, c.key())
	}
	c.tellResult(err, ctx, &result)
	if (err == nil) != (info != nil) {
		c.blame("%s with another info", liblock.StatusOf(err).Name())
	}
	if info != nil {
		c.tellInfo(info)
	}
}

// performList: the global lock has no key, so it is counted apart from the keys.
func performList(c *call) {
	what := map[string]liblock.What{
		"list_locks": liblock.Locks, "list_queues": liblock.Queues, "list_keys": liblock.Keys}[c.name]
	var options []liblock.ListOption
	if batch, ok := number(c.step.get("batch_size")); ok {
		options = append(options, liblock.ListBatch(batch))
	}
	if c.step.has("prefix") {
		options = append(options, liblock.KeyPrefix(c.value))
	}
	var result liblock.Result
	ctx := liblock.WithResult(background, &result)
	cursor, err := c.slot.c.List(ctx, what, options...)
	c.tellResult(err, ctx, &result)
	if err != nil {
		return
	}
	defer cursor.Close()
	keys, globals := []interface{}{}, int64(0)
	for cursor.Next() {
		if cursor.Info().IsGlobal {
			globals++
		} else {
			keys = append(keys, bytesShown(cursor.Info().Key))
		}
	}
	if err := cursor.Err(); err != nil {
		c.blame("cursor_next answered %s", liblock.StatusOf(err).Name())
	}
	c.tell("count", whole(int64(len(keys))))
	c.tell("keys", keys)
	c.tell("globals", whole(globals))
}

func performWaitHeld(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	c.tellResult(c.slot.c.WaitHeld(ctx, c.key(), c.duration()), ctx, &result)
}

func performWaitReleased(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	c.tellResult(c.slot.c.WaitReleased(ctx, c.key(), c.duration()), ctx, &result)
}

func performStats(c *call) {
	s, err := c.slot.c.Stats()
	c.tellStatus(err)
	values := []uint64{s.LocksHeld, s.Waiters, s.Acquired, s.Released, s.Contended, s.HandedOff, s.Expired, s.TakenAway,
		s.TakenOver, s.Timeouts, s.Canceled, s.Deadlocks, s.DeadlockSearches, s.Renewals, s.Sweeps, s.SweepEntries,
		s.SweepEntriesPerHold, s.DroppedNotices, s.PassedOn}
	for i, name := range strings.Fields(counters) {
		c.tell(name, wholeU(values[i]))
	}
}
