// SPDX-License-Identifier: MIT
// Verbs of administration.

package main

import (
	"context"
	"fmt"
	"time"

	liblock "liblock.dev/go"
)

// Verbs on contexts and owners, and the administrator's.

func performOpen(c *call) {
	slot, opens := c.opened, 0
	options, hasPrefix, err := openOptions(c.step.get("options"))
	if err != nil {
		c.blame("%s", err)
		return
	}
	options = append(options, liblock.OnOpen(func() { opens++ }))
	space := c.step.text("space")
	if slot.space = fmt.Sprintf("%d-%s", c.world.number, space); space == "" {
		slot.space = fmt.Sprintf("%d-private-%s", c.world.number, slot.name)
	}
	url := c.step.text("url")
	if !c.step.has("url") {
		where, more := c.world.spaceURL(slot, space != "", hasPrefix)
		url, options = where, append(options, more...)
	}
	var result liblock.Result
	ctx := liblock.WithResult(background, &result)
	slot.c, err = liblock.Open(ctx, url, options...)
	c.tellResult(err, ctx, &result)
	c.tell("on_open_calls", whole(int64(opens)))
	if (err == nil) != (slot.c != nil) {
		c.blame("%s with another context", liblock.StatusOf(err).Name())
	} else if err == nil {
		if slot.instance, err = slot.c.InstanceID(); err != nil || slot.instance == "" {
			c.blame("instance_id answered %s", liblock.StatusOf(err).Name())
		}
	}
}

func performClose(c *call) {
	c.tellStatus(c.slot.c.Close())
	c.slot.closed = true
}

func performCloseAsync(c *call) {
	c.slot.closed = true
	select {
	case err := <-c.slot.c.CloseAsync():
		c.tellStatus(err)
	case <-time.After(limit):
		c.tellStatus(nil)
		c.blame("the callback of close_async never came")
	}
}

func performPing(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	c.tellResult(c.slot.c.Ping(ctx), ctx, &result)
}

func performOwnerOpen(c *call) {
	var result liblock.Result
	ctx := liblock.WithResult(background, &result)
	owner, err := c.slot.c.OpenOwnerWith(ctx, c.step.text("name"))
	c.tellResult(err, ctx, &result)
	if (err == nil) != (owner != nil) {
		c.blame("%s with another owner", liblock.StatusOf(err).Name())
	}
	c.introduced.owner = owner
	if owner != nil {
		c.introduced.identity = c.identity(owner.ID())
	}
}

func (c *call) identity(id string, err error) string {
	if err != nil || id == "" {
		c.blame("owner_id answered %s", liblock.StatusOf(err).Name())
	}
	return id
}

func performOwnerClose(c *call) { c.tellStatus(c.owner.owner.Close()) }

func performOwnerID(c *call) {
	if c.byThread {
		c.introduced.identity = c.identity(c.slot.c.ThreadID())
	} else {
		c.introduced.identity = c.identity(c.owner.owner.ID())
	}
}

func performForceRelease(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	flags := int32(0)
	if c.step.isTrue("drop_queue") {
		flags = liblock.DropQueue
	}
	c.tellResult(c.slot.c.ForceRelease(ctx, c.key(), flags), ctx, &result)
}

func (c *call) clearOptions() (options []liblock.ClearOption) {
	if batch, ok := number(c.step.get("batch_size")); ok {
		options = append(options, liblock.ClearBatch(batch), liblock.ClearScan(batch))
	}
	if dead, ok := number(c.step.get("dead_ttl_ms")); ok {
		options = append(options, liblock.DeadTTL(time.Duration(dead)*time.Millisecond))
	}
	return options
}

func (c *call) cleared(clear func(context.Context) (liblock.Report, error)) {
	var result liblock.Result
	ctx := liblock.WithResult(background, &result)
	report, err := clear(ctx)
	c.tellResult(err, ctx, &result)
	if err != nil {
		return
	}
	c.tell("count", wholeU(report.Locks))
	c.tell("queues", wholeU(report.Queues))
	c.tell("cleared_keys", wholeU(report.Keys))
	c.tell("dequeued", wholeU(report.Waiters))
	if report.Elapsed < 0 || report.Keys != report.Locks+report.Queues {
		c.blame("the report does not add up")
	}
}

func performClear(c *call) {
	c.cleared(func(ctx context.Context) (liblock.Report, error) { return c.slot.c.Clear(ctx, c.clearOptions()...) })
}

func performClearDead(c *call) {
	c.cleared(func(ctx context.Context) (liblock.Report, error) { return c.slot.c.ClearDead(ctx, c.clearOptions()...) })
}

func performClearOwner(c *call) {
	if c.owner == nil {
		c.blame("clear_owner takes an owner with a name of its own")
		return
	}
	c.cleared(func(ctx context.Context) (liblock.Report, error) {
		return c.slot.c.ClearOwner(ctx, c.owner.identity, c.clearOptions()...)
	})
}

func performClearInstance(c *call) {
	c.cleared(func(ctx context.Context) (liblock.Report, error) {
		return c.slot.c.ClearInstance(ctx, c.instance.instance, c.clearOptions()...)
	})
}

func performSweep(c *call) {
	var result liblock.Result
	ctx := liblock.WithResult(background, &result)
	count, err := c.slot.c.Sweep(ctx)
	c.tellResult(err, ctx, &result)
	if err == nil {
		c.tell("count", wholeU(count))
	}
}
