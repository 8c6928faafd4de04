// SPDX-License-Identifier: MIT
// What listings are shown to may do anything: no call of the library is under way meanwhile.

package liblock_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	liblock "liblock.dev/go"
)

// listings are Each and EachInstance by name; show answers whether to go on.
func listings(c *liblock.Context) map[string]func(show func() bool) (liblock.Report, error) {
	return map[string]func(func() bool) (liblock.Report, error){
		"Each": func(show func() bool) (liblock.Report, error) {
			return c.Each(background, liblock.Locks, func(*liblock.Info) bool { return show() })
		},
		"EachInstance": func(show func() bool) (liblock.Report, error) {
			return c.EachInstance(background, false, func(liblock.Instance) bool { return show() })
		},
	}
}

func TestAsManyListingsAsCallsMayBlockAtOnceMayEachMakeOneMore(t *testing.T) {
	const many = 256
	c := openURL(t, server(t))
	lock(t, c, "a")
	until(t, "an instance", func() bool { // of two: server has opened a context as well
		report, err := c.EachInstance(background, false, nil)
		return err == nil && report.Instances >= 1
	})
	ctx, cancel := context.WithTimeout(background, limit)
	defer cancel()
	for name, list := range listings(c) {
		var inside sync.WaitGroup
		inside.Add(many)
		ended := make(chan error)
		for i := 0; i < many; i++ {
			go func() {
				var asked error
				_, err := list(func() bool {
					inside.Done()
					inside.Wait()
					_, asked = c.IsLocked(ctx, "a")
					return false
				})
				if err == nil {
					err = asked
				}
				ended <- err
			}()
		}
		for i := 0; i < many; i++ {
			if err := <-ended; err != nil {
				t.Error(name, err)
			}
		}
	}
}

// isInC says whether a call of C is under way on this goroutine.
func isInC() bool {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "runtime.cgocall") {
			return true
		}
		if !more {
			return false
		}
	}
}

func TestAPanicOrAnExitInWhatAListingIsShownToSkipsNoFrameOfC(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	for name, list := range listings(c) {
		for i := 0; i < 100; i++ {
			ended := make(chan interface{})
			end := func() { panic("shown") }
			if i%2 == 1 {
				end = runtime.Goexit
			}
			go func() {
				defer func() { ended <- recover() }()
				list(func() bool {
					if isInC() {
						t.Error(name, " shows while it is in C")
					}
					end()
					return true
				})
			}()
			if said := <-ended; (said == nil) != (i%2 == 1) {
				t.Fatal(name, said)
			}
		}
		if report, err := list(func() bool { return true }); err != nil || report.Keys+report.Instances != 1 {
			t.Fatal(name, report, err)
		}
	}
}

func TestAListingEndsWhenItsContextDoesAndSaysSo(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	lock(t, c, "b")
	ctx, cancel := context.WithCancel(background)
	var result liblock.Result
	shown := 0
	report, err := c.Each(liblock.WithResult(ctx, &result), liblock.Locks, func(*liblock.Info) bool {
		shown++
		cancel()
		return true
	})
	wants(t, err, context.Canceled)
	if shown != 1 || report.Locks != 1 || result.Status != liblock.ErrCanceled {
		t.Fatal(shown, report, result)
	}
}
