// SPDX-License-Identifier: MIT
// Losses that are told late, or only by looking: behind a release that has answered already, or of a lock that shares
// another's hold.

package liblock_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// holdUp keeps the library's callback thread busy until the function returned is called, so that notices wait.
func holdUp(t testing.TB, c *liblock.Context) (letGo func()) {
	t.Helper()
	inside, end := make(chan struct{}), make(chan struct{})
	err := c.OnEvents(liblock.EventMask(liblock.EventForceReleased), func(event liblock.Event) {
		if event.Key == "block" {
			close(inside)
			<-end
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	block := lock(t, c, "block")
	takeAway(t, c, "block")
	wants(t, block.Unlock(background), liblock.ErrLost)
	comes(t, "the callback", inside)
	return func() { close(end) }
}

func takeAway(t testing.TB, c *liblock.Context, key string) {
	t.Helper()
	if err := c.ForceRelease(background, key, 0); err != nil {
		t.Fatal(err)
	}
}

// toldBehindARelease takes a lock away and releases it before the notice of its loss can come.
func toldBehindARelease(t *testing.T, c *liblock.Context) {
	told := make(chan *liblock.Lock, 2)
	held := lock(t, c, "a", liblock.TTL(time.Minute), liblock.OnLost(func(l *liblock.Lock) { told <- l }))
	letGo := holdUp(t, c)
	takeAway(t, c, "a")
	until(t, "the loss", func() bool { return liblock.StatusOf(held.Held()) == liblock.ErrLost })
	wants(t, held.Unlock(background), liblock.ErrLost)
	comes(t, "the loss that the release told of", held.Lost())
	wants(t, held.Unlock(background), liblock.ErrNotHeld)
	letGo()
	select {
	case l := <-told:
		if l != held {
			t.Fatal("told of another lock")
		}
	case <-time.After(limit):
		t.Fatal("OnLost was not told of a lock that was lost before it was released")
	}
}

func TestALossIsToldAlsoBehindAReleaseThatAnswersLost(t *testing.T) { toldBehindARelease(t, open(t)) }

func TestALossOnAServerIsToldAlsoBehindAReleaseThatAnswersLost(t *testing.T) {
	toldBehindARelease(t, openURL(t, server(t)))
}

// toldToAll takes a key away that one owner holds twice.
func toldToAll(t *testing.T, c *liblock.Context) {
	o := owner(t, c, "o")
	outer := lock(t, c, "a", liblock.ByOwner(o), liblock.NotifyLost())
	inner := lock(t, c, "a", liblock.ByOwner(o), liblock.NotifyLost())
	plain := lock(t, c, "a", liblock.ByOwner(o))
	left := lock(t, c, "a", liblock.ByOwner(o), liblock.NotifyLost())
	unlock(t, outer) // what told of the loss to all of them has gone
	ended := make(chan error, 1)
	go func() {
		ended <- c.WithLock(background, "a", func(held context.Context) error {
			takeAway(t, c, "a")
			comes(t, "the end of the inner context", held.Done())
			return nil
		}, liblock.ByOwner(o))
	}()
	wants(t, <-ended, liblock.ErrLost)
	for _, l := range []*liblock.Lock{inner, plain, left} {
		comes(t, "the loss", l.Lost())
		wants(t, l.Unlock(background), liblock.ErrLost)
	}
}

func TestEveryLockThatSharesAHoldHearsOfItsLoss(t *testing.T) { toldToAll(t, open(t)) }

func TestEveryLockThatSharesAHoldOnAServerHearsOfItsLoss(t *testing.T) {
	toldToAll(t, openURL(t, server(t)))
}

// TestWhatALockWouldHaveToldIsLetGoWhenItIsGivenBackByKey counts what closures of OnLost hold.
func TestWhatALockWouldHaveToldIsLetGoWhenItIsGivenBackByKey(t *testing.T) {
	const many = 1000
	c := open(t)
	o := owner(t, c, "o")
	var collected atomic.Int32
	for i := 0; i < many; i++ {
		payload := new([64]byte)
		runtime.SetFinalizer(payload, func(*[64]byte) { collected.Add(1) })
		lock(t, c, "a", liblock.ByOwner(o), liblock.OnLost(func(*liblock.Lock) { payload[0]++ }))
		if err := o.Release(background, "a"); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "most of it", func() bool { runtime.GC(); return collected.Load() > many-50 })
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "all of it", func() bool { runtime.GC(); return collected.Load() >= many-1 }) // one may be on the stack
}

func TestALockThatWasReleasedIsNeverLost(t *testing.T) {
	c, err := liblock.Open(background, "local:")
	if err != nil {
		t.Fatal(err)
	}
	o := owner(t, c, "o")
	var given []<-chan struct{}
	for _, option := range []liblock.LockOption{liblock.NotifyLost(), liblock.ByOwner(o), liblock.Wait(limit)} {
		held := lock(t, c, "a", option)
		given = append(given, held.Lost())
		unlock(t, held)
		given = append(given, held.Lost())
	}
	held := lock(t, c, "kept", liblock.NotifyLost())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	comes(t, "the loss of what was held", held.Lost())
	time.Sleep(250 * time.Millisecond) // longer than locks go without being looked at
	for i, lost := range given {
		select {
		case <-lost:
			t.Fatal("a lock that was released is not lost: ", i)
		default:
		}
	}
}
