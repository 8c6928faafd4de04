// SPDX-License-Identifier: MIT
// One step as a call of the binding, and what it told.

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	liblock "liblock.dev/go"
)

// verb is what a step does: what it takes, what an expectation may speak of, and how it is performed.
type verb struct {
	needs, allows, tells string
	perform              func(*call)
	mainOnly             bool // drives the world itself: cannot be given to a named thread
}

// call is one step on its way: prepare (main: resolve names, decode values), perform (any thread: the call of the
// library, what it answered written down as JSON), settle (main: bind what was made, check, compare). perform touches
// nothing but its own call and what was resolved into it.
type call struct {
	fault
	verb       *verb
	name       string
	step       *object
	number     int
	world      *world
	slot       *contextSlot
	owner      *ownerSlot
	byThread   bool
	instance   *contextSlot
	hold       *hold // the lock or request that the step names
	made       *hold // what "as" names in acquires
	opened     *contextSlot
	introduced *ownerSlot
	keys       []string
	value      string
	ms         int64
	options    []liblock.LockOption
	got        *object
	reentered  bool
}

const tellsResult = "status token attempts waited_ms remaining_ms queue_position queue_length hold_count flags" +
	" votes nodes"

// atLarge are the verbs that do not speak of one context.
const atLarge = "open sleep finish end_thread idle await_notice"

func (c *call) resolve() error {
	name := c.step.text("context")
	if name == "" {
		name = "c"
	}
	c.slot = c.world.contexts[name]
	if (c.slot == nil || c.slot.c == nil) && !wordIn(atLarge, c.name) {
		return fmt.Errorf("no open context is named \"%s\"", name)
	}
	if name = c.step.text("instance"); name != "" {
		if c.instance = c.world.contexts[name]; c.instance == nil {
			return fmt.Errorf("no context is named \"%s\"", name)
		}
	}
	if name = c.step.text("owner"); name == "THREAD" {
		c.byThread = true
	} else if name != "" {
		if c.owner = c.world.owners[name]; c.owner == nil {
			return fmt.Errorf("no owner is named \"%s\"", name)
		}
	}
	lock, request := c.step.text("lock"), c.step.text("request")
	if lock+request == "" {
		return nil
	}
	c.hold = c.world.holds[lock+request]
	switch {
	case c.hold == nil:
		return fmt.Errorf("nothing is named \"%s\"", lock+request)
	case lock != "" && c.hold.lock == nil:
		return fmt.Errorf("\"%s\" never was granted", lock)
	case request != "" && c.hold.request == 0:
		return fmt.Errorf("\"%s\" is no request", request)
	}
	return nil
}

func (c *call) read() (err error) {
	keys := c.step.list("keys")
	if c.step.has("key") {
		keys = []interface{}{c.step.get("key")}
	}
	for _, node := range keys {
		key, err := bytesOf(node)
		if err != nil {
			return err
		}
		c.keys = append(c.keys, key)
	}
	for _, name := range []string{"prefix", "value"} {
		if c.step.has(name) {
			if c.value, err = bytesOf(c.step.get(name)); err != nil {
				return err
			}
		}
	}
	if c.step.has("ttl_ms") {
		c.ms, err = ttlOf(c.step.get("ttl_ms"))
		return err
	}
	c.ms = limit.Milliseconds()
	for _, name := range []string{"ms", "wait_ms"} {
		if n, ok := number(c.step.get(name)); ok {
			c.ms = n
		}
	}
	return nil
}

func (c *call) key() string { return c.keys[0] }

func (c *call) duration() time.Duration {
	if c.ms == math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(c.ms) * time.Millisecond
}

// prepareAcquire passes options only where the scenario needs some, so that all others exercise having none.
func (c *call) prepareAcquire() error {
	name := c.step.text("as")
	if name == "" {
		name = fmt.Sprintf("#%d", c.number)
	}
	if c.made = c.world.addHold(name); c.made == nil {
		return fmt.Errorf("the name \"%s\" is taken", name)
	}
	made := c.made
	made.slot, made.keys, made.owned = c.slot, c.keys, c.owner != nil || c.byThread
	options, notice, err := lockOptions(c.step.get("options"))
	if err != nil {
		return err
	}
	if c.byThread {
		options = append(options, liblock.ByThread())
	} else if c.owner != nil {
		options = append(options, liblock.ByOwner(c.owner.owner))
	}
	if notice == "callback" {
		options = append(options, liblock.OnLost(func(*liblock.Lock) { c.world.lost(made) }))
	}
	if notice == "completions" || c.name == "acquire_async" {
		queue := c.world.queueOf(c.slot)
		if queue == nil {
			return errors.New(c.world.text)
		}
		if notice == "completions" {
			options = append(options, liblock.NoticesTo(queue))
		}
	}
	c.options = options
	return nil
}

func (c *call) prepareNames() error {
	name := c.step.text("as")
	switch {
	case c.name == "open":
		if c.opened = c.world.addContext(name); c.opened == nil {
			return fmt.Errorf("the name \"%s\" is taken", name)
		}
	case strings.HasPrefix(c.name, "owner_") && name != "":
		if c.introduced = c.world.addOwner(name); c.introduced == nil {
			return fmt.Errorf("the name \"%s\" is taken", name)
		}
	case strings.Contains(c.name, "acquire"):
		return c.prepareAcquire()
	}
	return nil
}

func (w *world) prepare(step *object, number int) *call {
	name := step.text("do")
	c := &call{world: w, step: step, number: number, name: name, verb: verbs[name], got: newObject()}
	for _, part := range []func() error{c.resolve, c.read, c.prepareNames} {
		if err := part(); err != nil {
			c.blame("%s", err)
			break
		}
	}
	return c
}

// expectsOnly says that the step expects nothing beyond the words given: what it then does without is another way of
// the binding through the same call.
func (c *call) expectsOnly(words string) bool {
	expect, _ := c.step.get("expect").(*object)
	if expect == nil {
		return true
	}
	for _, name := range expect.names {
		if !wordIn(words, name) {
			return false
		}
	}
	return true
}

// asking makes the context of a call that tells its whole result. Steps on a server that expect a status alone are
// made without: then the binding calls the asynchronous twin.
func (c *call) asking(result *liblock.Result) context.Context {
	if !c.world.isLocal() && c.expectsOnly("status") {
		return background
	}
	return liblock.WithResult(background, result)
}

func (c *call) tell(name string, value interface{}) { c.got.set(name, value) }

func (c *call) tellStatus(err error) liblock.Status {
	status := liblock.StatusOf(err)
	c.tell("status", status.Name())
	return status
}

const knownFlags = liblock.Reentered | liblock.Waited | liblock.TookOver | liblock.HadLock | liblock.HadQueue

// tellResult writes a result down and checks what holds for every one. On the ways without a result a failure has it
// in the error; a success has none.
func (c *call) tellResult(err error, asked context.Context, result *liblock.Result) {
	status := c.tellStatus(err)
	if asked == background {
		failure, _ := err.(*liblock.Error)
		if failure == nil {
			return
		}
		result = &failure.Result
	}
	if result.Status != status {
		c.blame("returned %s, but the result says %s (%d)", status.Name(), result.Status.Name(), result.Status)
	}
	if (result.Message == "") != (status == liblock.OK) {
		c.blame("status %s with the message \"%s\"", status.Name(), result.Message)
	}
	if result.Flags&^knownFlags != 0 {
		c.blame("unknown result flags %#x", uint32(result.Flags))
	}
	if result.WaitedMs < 0 {
		c.blame("waited_ms is %d", result.WaitedMs)
	}
	c.tell("token", wholeU(result.Token))
	c.tell("attempts", whole(int64(result.Attempts)))
	c.tell("waited_ms", whole(result.WaitedMs))
	c.tell("remaining_ms", whole(result.RemainingMs))
	c.tell("queue_position", whole(result.QueuePosition))
	c.tell("queue_length", whole(result.QueueLength))
	c.tell("hold_count", whole(int64(result.HoldCount)))
	c.tell("votes", whole(int64(result.Votes)))
	c.tell("nodes", whole(int64(result.Nodes)))
	flags := []interface{}{}
	for i, word := range []string{"REENTERED", "WAITED", "TOOK_OVER", "", "HAD_LOCK", "HAD_QUEUE"} {
		if result.Flags&(1<<uint(i)) != 0 {
			flags = append(flags, word)
		}
	}
	c.tell("flags", flags)
	c.reentered = result.Flags&liblock.Reentered != 0
}

func (c *call) settle() {
	w := c.world
	if !c.isSet() && c.made != nil && c.made.lock != nil {
		w.granted(c.made, c.reentered)
	}
	if !c.isSet() && !w.isSet() {
		expect, _ := c.step.get("expect").(*object)
		if err := w.expectMatch(expect, c.got); err != nil {
			c.blame("%s", err)
		}
	}
	if c.isSet() {
		w.blame("%s", c.text)
	}
}
