// SPDX-License-Identifier: MIT
// What threads hold as owners, and what is kept of it.

package liblock_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// onThread runs call on a thread of its own, which ends with it.
func onThread(call func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		call()
	}()
	<-done
}

// letGo says that almost all of so many closures of OnLost are collected while their context goes on.
func letGo(t *testing.T, many int, hold func(c *liblock.Context, i int, onLost liblock.LockOption)) {
	t.Helper()
	c := open(t)
	var collected atomic.Int32
	for i := 0; i < many; i++ {
		payload := new([64]byte)
		runtime.SetFinalizer(payload, func(*[64]byte) { collected.Add(1) })
		hold(c, i, liblock.OnLost(func(*liblock.Lock) { payload[0]++ }))
	}
	until(t, "most of it", func() bool { runtime.GC(); return int(collected.Load()) > many-50 })
	if stats, err := c.Stats(); err != nil || stats.LocksHeld != 0 {
		t.Fatal(stats, err)
	}
}

func TestWhatALockOfAThreadWouldHaveToldIsLetGoWhenItIsGivenBackByKey(t *testing.T) {
	onThread(func() {
		letGo(t, 1000, func(c *liblock.Context, i int, onLost liblock.LockOption) {
			if _, err := c.Lock(background, "a", liblock.ByThread(), liblock.TTL(time.Minute), onLost); err != nil {
				t.Error(err)
			} else if err := c.ReleaseByThread(background, "a"); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestWhatALockOfAThreadWouldHaveToldIsLetGoWhenThatEnds(t *testing.T) {
	letGo(t, 200, func(c *liblock.Context, i int, onLost liblock.LockOption) {
		onThread(func() {
			if _, err := c.Lock(background, fmt.Sprint(i), liblock.ByThread(), onLost); err != nil {
				t.Error(err)
			}
		})
		until(t, "the end of the thread", func() bool {
			locked, err := c.IsLocked(background, fmt.Sprint(i))
			return err == nil && !locked
		})
	})
}

func TestALossOfWhatAThreadHoldsIsToldHoweverManyOfItsLocksHaveEnded(t *testing.T) {
	c := open(t)
	onThread(func() {
		held, err := c.Lock(background, "held", liblock.ByThread(), liblock.NotifyLost())
		if err != nil {
			t.Error(err)
			return
		}
		for i := 0; i < 100; i++ {
			other, err := c.Lock(background, "other", liblock.ByThread(), liblock.NotifyLost())
			if err != nil || other.Unlock(background) != nil {
				t.Error(err)
			}
		}
		if err := c.ForceRelease(background, "held", 0); err != nil {
			t.Error(err)
		}
		select {
		case <-held.Lost():
		case <-time.After(limit):
			t.Error("a loss is not told")
		}
	})
}
