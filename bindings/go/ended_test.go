// SPDX-License-Identifier: MIT
// Calls whose context.Context has ended before they are made, and deadlines that have passed.

package liblock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// endedContexts are one that was canceled and one whose deadline has passed, with what the calls must answer.
func endedContexts(t testing.TB) map[error]context.Context {
	canceled, cancel := context.WithCancel(background)
	cancel()
	late, stop := context.WithDeadline(background, time.Now().Add(-time.Hour))
	t.Cleanup(stop)
	return map[error]context.Context{context.Canceled: canceled, context.DeadlineExceeded: late}
}

// changesNothing makes every call but the releases with a context that has ended.
func changesNothing(t *testing.T, c *liblock.Context) {
	held := lock(t, c, "a", liblock.TTL(time.Minute), liblock.Value([]byte("v")))
	o := owner(t, c, "o")
	for cause, ctx := range endedContexts(t) {
		calls := map[string]func() error{
			"Lock":         func() error { _, err := c.Lock(ctx, "b"); return err },
			"LockBlocking": func() error { _, err := c.Lock(ctx, "b", liblock.Blocking()); return err },
			"LockByOwner":  func() error { _, err := c.Lock(ctx, "b", liblock.ByOwner(o)); return err },
			"TryLock":      func() error { _, err := c.TryLock(ctx, "b"); return err },
			"LockMany":     func() error { _, err := c.LockMany(ctx, []string{"b", "c"}); return err },
			"LockGlobal":   func() error { _, err := c.LockGlobal(ctx); return err },
			"WithLock":     func() error { return c.WithLock(ctx, "b", func(context.Context) error { return nil }) },
			"Adopt":        func() error { _, err := c.Adopt(ctx, []byte("x")); return err },
			"Extend":       func() error { return held.Extend(ctx, time.Hour) },
			"Update":       func() error { return held.Update(ctx, []byte("w")) },
			"Verify":       func() error { return held.Verify(ctx) },
			"Export":       func() error { _, err := held.Export(ctx); return err },
			"WaitLost":     func() error { return held.WaitLost(ctx, time.Minute) },
			"Ping":         func() error { return c.Ping(ctx) },
			"Inspect":      func() error { _, err := c.Inspect(ctx, "a"); return err },
			"InspectQueue": func() error { _, err := c.InspectQueue(ctx, "a"); return err },
			"Read":         func() error { _, err := c.Read(ctx, "a", liblock.ReadNearest, ""); return err },
			"IsLocked":     func() error { _, err := c.IsLocked(ctx, "a"); return err },
			"IsQueued":     func() error { _, err := c.IsQueued(ctx, "a"); return err },
			"WaitHeld":     func() error { return c.WaitHeld(ctx, "a", time.Minute) },
			"WaitReleased": func() error { return c.WaitReleased(ctx, "a", time.Minute) },
			"ForceRelease": func() error { return c.ForceRelease(ctx, "a", 0) },
			"ReleaseKey":   func() error { return c.ReleaseKey(ctx, "a", []byte("v")) },
			"UpdateKey":    func() error { return c.UpdateKey(ctx, "a", []byte("v"), []byte("w")) },
			"Clear":        func() error { _, err := c.Clear(ctx); return err },
			"Sweep":        func() error { _, err := c.Sweep(ctx); return err },
			"Each":         func() error { _, err := c.Each(ctx, liblock.Locks, nil); return err },
			"List":         func() error { _, err := c.List(ctx, liblock.Locks); return err },
			"QuorumInit":   func() error { return c.QuorumInit(ctx, 0) },
			"SetNodes":     func() error { return c.QuorumSetNodes(ctx, nil, nil, 0) },
		}
		for name, call := range calls {
			for i := 0; i < 8; i++ { // what is left to chance shows
				err := call()
				if !errors.Is(err, cause) || !errors.Is(err, liblock.ErrCanceled) {
					t.Fatalf("%s answers %v, want ErrCanceled with %v", name, err, cause)
				}
			}
		}
	}
	info, err := c.Inspect(background, "a")
	if err != nil || string(info.Value) != "v" || info.Remaining > time.Minute || info.Token != held.Token() {
		t.Fatal("something was changed all the same: ", info, err)
	}
	if locked, err := c.IsLocked(background, "b"); locked || err != nil {
		t.Fatal(locked, err)
	}
	unlock(t, held)
}

func TestAContextThatHasEndedKeepsCallsFromBeingMade(t *testing.T) { changesNothing(t, open(t)) }

func TestAContextThatHasEndedKeepsCallsToAServerFromBeingMade(t *testing.T) {
	changesNothing(t, openURL(t, server(t)))
}

// releases gives locks back by contexts that have ended: that must not keep a key.
func releases(t *testing.T, c *liblock.Context) {
	o := owner(t, c, "o")
	for _, ctx := range endedContexts(t) {
		var result liblock.Result
		for i, with := range []context.Context{ctx, liblock.WithResult(ctx, &result)} {
			for round := 0; round < 8; round++ { // what is left to chance shows
				held := lock(t, c, "a")
				if err := held.Unlock(with); err != nil && !errors.Is(err, liblock.ErrInDoubt) {
					t.Fatalf("way %d: %v", i, err)
				}
				until(t, "the release", func() bool { return liblock.StatusOf(held.Held()) == liblock.ErrNotHeld })
				owned := lock(t, c, "a", liblock.ByOwner(o))
				if err := o.Release(with, "a"); err != nil && !errors.Is(err, liblock.ErrInDoubt) {
					t.Fatalf("way %d, by key: %v", i, err)
				}
				until(t, "the release by key", func() bool {
					return liblock.StatusOf(owned.Held()) == liblock.ErrNotHeld
				})
			}
		}
	}
	until(t, "a free key", func() bool { locked, err := c.IsLocked(background, "a"); return !locked && err == nil })
}

func TestAContextThatHasEndedReleasesAllTheSame(t *testing.T) { releases(t, open(t)) }

func TestAContextThatHasEndedReleasesAllTheSameOnAServer(t *testing.T) {
	releases(t, openURL(t, server(t)))
}
