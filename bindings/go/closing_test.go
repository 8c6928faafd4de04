// SPDX-License-Identifier: MIT
// Closing while much goes on, and what is left afterwards: no goroutine, no number, no lock.

package liblock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// ours counts the goroutines that are inside this package or wait for it.
func ours() (count int, stacks string) {
	buffer := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		if strings.Contains(stack, "liblock.dev/go.") {
			count++
			stacks += stack + "\n\n"
		}
	}
	return count, stacks
}

// TestMain looks for goroutines that the tests have left behind, each of which closes what it opens.
func TestMain(m *testing.M) {
	status := forkedOr(m.Run)
	if status == 0 {
		count, stacks := ours()
		for begun := time.Now(); count > 0 && time.Since(begun) < limit; count, stacks = ours() {
			runtime.GC()
			time.Sleep(10 * time.Millisecond)
		}
		if count > 0 {
			fmt.Printf("FAIL: %d goroutines of this package are left\n%s", count, stacks)
			status = 1
		}
	}
	exit(status)
}

func TestClosingEndsAThousandWaitsAtOnce(t *testing.T) {
	for name, url := range map[string]string{"local": "local:", "server": server(t)} {
		c, err := liblock.Open(background, url)
		if err != nil {
			t.Fatal(err)
		}
		held := lock(t, c, "a")
		ended := make(chan error, 1000)
		for i := 0; i < cap(ended); i++ {
			go func() { _, err := c.Lock(background, "a"); ended <- err }()
		}
		until(t, "all waiters", func() bool { return waiters(t, c, "a") == cap(ended) })
		closed := make(chan error, 3)
		for i := 0; i < cap(closed); i++ {
			go func() { closed <- c.Close() }()
		}
		for i := 0; i < cap(closed); i++ {
			if err := <-closed; err != nil {
				t.Fatal(name, err)
			}
		}
		for i := 0; i < cap(ended); i++ {
			wants(t, <-ended, liblock.ErrClosed)
		}
		wants(t, held.Unlock(background), liblock.ErrClosed)
	}
}

// TestClosingAmongAllKindsOfCallsLosesNone has goroutines at work whose context is closed under them.
func TestClosingAmongAllKindsOfCallsLosesNone(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := 0; round < rounds; round++ {
		c, err := liblock.Open(background, "local:")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var inside [4]atomic.Int32
		for i := 0; i < 16; i++ {
			all.Add(1)
			go func(i int) {
				defer all.Done()
				workUntilClosed(t, c, i, &inside)
			}(i)
		}
		time.Sleep(time.Duration(round%4) * time.Millisecond)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	}
}

func workUntilClosed(t *testing.T, c *liblock.Context, i int, inside *[4]atomic.Int32) {
	for n := 0; ; n++ {
		which := (i + n) % len(inside)
		key := fmt.Sprint("key", which)
		ctx, cancel := context.WithTimeout(background, time.Duration(n%3)*time.Millisecond)
		err := c.WithLock(ctx, key, func(held context.Context) error {
			if inside[which].Add(1) != 1 && held.Err() == nil {
				t.Error("two hold a key at once")
			}
			defer inside[which].Add(-1)
			_, err := c.Inspect(background, key)
			return err
		})
		cancel()
		switch {
		case errors.Is(err, liblock.ErrClosed):
			return
		case err == nil, errors.Is(err, liblock.ErrCanceled), errors.Is(err, liblock.ErrLost),
			errors.Is(err, liblock.ErrNotHeld):
		default:
			t.Error(err)
			return
		}
	}
}

func TestAnythingMayBeCalledInACallbackAndNothingHangs(t *testing.T) {
	c, err := liblock.Open(background, "local:")
	if err != nil {
		t.Fatal(err)
	}
	held := lock(t, c, "held")
	told := make(chan error, 8)
	err = c.OnEvents(liblock.EventMask(liblock.EventObtained), func(event liblock.Event) {
		if event.Key != "a" {
			return
		}
		_, tried := c.TryLock(background, "held")
		_, waited := c.Lock(background, "held", liblock.Blocking())
		_, queued := c.OpenCompletions(1)
		told <- tried
		told <- waited
		told <- queued
		told <- c.OnEvents(0, nil)
		told <- c.Close()
		told <- held.Unlock(background)
	})
	if err != nil {
		t.Fatal(err)
	}
	unlock(t, lock(t, c, "a"))
	for _, want := range []error{liblock.ErrBusy, liblock.ErrWouldDeadlock, nil, nil, liblock.ErrWouldDeadlock, nil} {
		if got := <-told; !errors.Is(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
