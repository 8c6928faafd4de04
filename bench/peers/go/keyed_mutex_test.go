// SPDX-License-Identifier: MIT

// The Go peer is a lock, and forgets keys that nobody uses. Run by `go test`, better by `go test -race`.
package main

import (
	"sync"
	"testing"
)

func TestNoAdditionIsLostUnderOneKey(t *testing.T) {
	const workers, rounds = 8, 20000
	k, keys := newKeyedMutex(), hotKeys(4)
	counters := make([]int, len(keys))
	var all sync.WaitGroup
	for w := 0; w < workers; w++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < rounds; i++ {
				at := i % len(keys)
				k.lock(keys[at])
				counters[at]++
				k.unlock(keys[at])
			}
		}()
	}
	all.Wait()
	for at, count := range counters {
		if count != workers*rounds/len(keys) {
			t.Errorf("key %d: %d additions, want %d", at, count, workers*rounds/len(keys))
		}
	}
	if len(k.entries) != 0 {
		t.Errorf("%d keys are remembered that nobody holds", len(k.entries))
	}
}
