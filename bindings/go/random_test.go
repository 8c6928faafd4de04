// SPDX-License-Identifier: MIT
// Cancelling, panicking and leaving at any point leaves no held lock behind; by seed.

package liblock_test

import (
	"context"
	"flag"
	"math/rand"
	"runtime"
	"sync"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

var seed = flag.Int64("seed", 1, "of the random tests")

// brittle is a context that panics at the n-th question put to it: whatever point of an acquire that is.
type brittle struct {
	context.Context
	mutex sync.Mutex
	left  int
}

func (b *brittle) touch() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.left--; b.left == 0 {
		panic("brittle")
	}
}

func (b *brittle) Done() <-chan struct{} { b.touch(); return b.Context.Done() }
func (b *brittle) Err() error            { b.touch(); return b.Context.Err() }
func (b *brittle) Value(key any) any     { b.touch(); return b.Context.Value(key) }
func (b *brittle) Deadline() (time.Time, bool) {
	b.touch()
	return b.Context.Deadline()
}

// acquireSomehow acquires in a way that rolls, and gives back what it got.
func acquireSomehow(ctx context.Context, c *liblock.Context, random *rand.Rand) {
	options := [][]liblock.LockOption{
		nil, {liblock.TTL(time.Minute)}, {liblock.Wait(time.Millisecond)}, {liblock.NotifyLost()},
		{liblock.OnQueued(func(int64, int64) {})}, {liblock.InOrder(liblock.LIFO), liblock.Value([]byte("v"))},
		{func() liblock.LockOption { return nil }()}, // a nil option: panics while options are read
	}[random.Intn(7)]
	var l *liblock.Lock
	var err error
	switch random.Intn(3) {
	case 0:
		l, err = c.Lock(ctx, "a", options...)
	case 1:
		l, err = c.TryLock(ctx, "a", options...)
	default:
		l, err = c.LockMany(ctx, []string{"a", "b"}, options...)
	}
	if err == nil {
		l.Unlock(background)
	}
}

func TestEndingAtAnyPointOfAnAcquireLeavesNothingHeld(t *testing.T) {
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewSource(*seed))
	c := open(t)
	for round := 0; round < 400; round++ {
		var held *liblock.Lock
		if random.Intn(2) == 0 {
			held = lock(t, c, "a")
		}
		ctx, cancel := context.WithCancel(background)
		point, after := random.Intn(12), time.Duration(random.Intn(300))*time.Microsecond
		chosen := rand.New(rand.NewSource(random.Int63()))
		leaves := random.Intn(2) == 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() {
				if recover() != nil && leaves {
					runtime.Goexit()
				}
			}()
			acquireSomehow(&brittle{Context: ctx, left: point}, c, chosen)
		}()
		time.Sleep(after)
		if random.Intn(2) == 0 {
			cancel()
			time.Sleep(after / 2)
		}
		if held != nil {
			unlock(t, held)
		}
		cancel()
		comes(t, "the end of the acquire", ended)
	}
	until(t, "free keys", func() bool { s, err := c.Stats(); return err == nil && s.LocksHeld == 0 && s.Waiters == 0 })
	unlock(t, lock(t, c, "a"))
}

func TestAGrantThatCrossesTheEndOfItsContextIsGivenBack(t *testing.T) {
	c := open(t)
	for round := 0; round < 300; round++ {
		held := lock(t, c, "a")
		ctx, cancel := context.WithCancel(background)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if l, err := c.Lock(ctx, "a"); err == nil {
				l.Unlock(background)
			}
		}()
		until(t, "a waiter", func() bool { return waiters(t, c, "a") == 1 })
		go cancel()
		unlock(t, held)
		comes(t, "the end", ended)
		cancel()
	}
	until(t, "a free key", func() bool { locked, _ := c.IsLocked(background, "a"); return !locked })
}
