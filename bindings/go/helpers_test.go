// SPDX-License-Identifier: MIT
// What the tests share: contexts, real servers, and checks that nothing is left.

package liblock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	liblock "liblock.dev/go"
	"liblock.dev/go/internal/raw"
)

var background = context.Background()

// limit is far above any scheduling delay: what has not come by then will not.
const limit = 10 * time.Second

func open(t testing.TB, options ...liblock.Option) *liblock.Context {
	t.Helper()
	return openURL(t, "local:", options...)
}

func openURL(t testing.TB, url string, options ...liblock.Option) *liblock.Context {
	t.Helper()
	c, err := liblock.Open(background, url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func lock(t testing.TB, c *liblock.Context, key string, options ...liblock.LockOption) *liblock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, limit)
	defer cancel()
	l, err := c.Lock(ctx, key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func unlock(t testing.TB, l *liblock.Lock) {
	t.Helper()
	if err := l.Unlock(background); err != nil {
		t.Fatal(err)
	}
}

func wants(t testing.TB, err error, status error) {
	t.Helper()
	if !errors.Is(err, status) {
		t.Fatalf("got %v, want %v", err, status)
	}
}

// until waits for a condition that somebody else brings about.
func until(t testing.TB, what string, true_ func() bool) {
	t.Helper()
	for begun := time.Now(); !true_(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > limit {
			t.Fatal("never came: " + what)
		}
	}
}

func waiters(t testing.TB, c *liblock.Context, key string) int {
	t.Helper()
	info, err := c.InspectQueue(background, key)
	if errors.Is(err, liblock.ErrNotHeld) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.WaiterCount
}

// plainTTL is a ttl without a notice of the loss, so that nobody ends the lock but a sweep or the next in line.
func plainTTL(ms int64) liblock.LockOption {
	return liblock.RawLock(func(o *raw.Acquire) { o.TTLMs = ms })
}

// waitersOf is how many requests wait in the table.
func waitersOf(t testing.TB, c *liblock.Context) uint64 {
	t.Helper()
	stats, err := c.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.Waiters
}
