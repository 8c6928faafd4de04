// SPDX-License-Identifier: MIT
// What the uncontended pair costs from Go.

package liblock_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	liblock "liblock.dev/go"
)

// BenchmarkAcquireRelease is the uncontended pair in a local context: two calls into C.
func BenchmarkAcquireRelease(b *testing.B) {
	c := open(b)
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		l, err := c.Lock(background, "key")
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Unlock(background); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTwoBareCalls is what the border between Go and C costs a pair that does nothing: two calls.
func BenchmarkTwoBareCalls(b *testing.B) {
	for i := 0; i < b.N; i++ {
		if liblock.VersionNumber() != liblock.VersionNumber() {
			b.Fatal("the library changed under way")
		}
	}
}

// BenchmarkAcquireReleaseParallel is the same by several goroutines, each with a key of its own.
func BenchmarkAcquireReleaseParallel(b *testing.B) {
	c := open(b)
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		key := "key" + strconv.FormatInt(next.Add(1), 10)
		for pb.Next() {
			l, err := c.Lock(background, key)
			if err != nil {
				b.Error(err)
				return
			}
			if err := l.Unlock(background); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
