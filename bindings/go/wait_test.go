// SPDX-License-Identifier: MIT
// Waits for others keep no thread, and none of them outlives the context of its caller.

package liblock_test

import (
	"context"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

func TestWaitsForOthersKeepNoThreadAndLeaveNothingBehindWhenCanceled(t *testing.T) {
	const many = 300
	c := open(t)
	held := lock(t, c, "held")
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error, 3*many)
	threads := threadCount(t)
	for i := 0; i < many; i++ {
		go func() { ended <- c.WaitHeld(ctx, "free", liblock.Forever) }()
		go func() { ended <- c.WaitReleased(ctx, "held", time.Minute) }()
		go func() { ended <- held.WaitLost(ctx, liblock.Forever) }()
	}
	until(t, "all wait", func() bool { return waitersOf(t, c) == 3*many })
	if more := threadCount(t) - threads; more > 20 {
		t.Errorf("%d waits took %d threads", 3*many, more)
	}
	cancel()
	for i := 0; i < 3*many; i++ {
		wants(t, <-ended, context.Canceled)
	}
	until(t, "none waits", func() bool { return waitersOf(t, c) == 0 })
}

func TestAWaitThatIsOverTellsWhyAndNotThatItsContextEnded(t *testing.T) {
	c := open(t)
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	wants(t, c.WaitHeld(ctx, "free", 10*time.Millisecond), liblock.ErrTimeout)
	wants(t, c.WaitReleased(ctx, "free", liblock.Forever), liblock.ErrNotHeld)
	held := lock(t, c, "a")
	lost := make(chan error, 1)
	go func() { lost <- held.WaitLost(ctx, liblock.Forever) }()
	until(t, "it waits", func() bool { return waitersOf(t, c) == 1 })
	if err := c.ForceRelease(background, "a", 0); err != nil {
		t.Fatal(err)
	}
	wants(t, <-lost, liblock.ErrLost)
}
