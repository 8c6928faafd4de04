// SPDX-License-Identifier: MIT
// Events as Go sees them: whole, copied, and never under a lock.

package liblock_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

type heard struct {
	mutex  sync.Mutex
	events []liblock.Event
}

func (h *heard) hear(e liblock.Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.events = append(h.events, e)
}

func (h *heard) kinds() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	names := []string{}
	for _, e := range h.events {
		names = append(names, e.Kind.String())
	}
	return strings.Join(names, " ")
}

func TestEventsTellTheLifeOfALock(t *testing.T) {
	c := open(t)
	var h heard
	if err := c.OnEvents(liblock.AllEvents, h.hear); err != nil {
		t.Fatal(err)
	}
	held := lock(t, c, "a", liblock.EventTag(4711), liblock.TTL(time.Minute))
	unlock(t, held)
	many, err := c.LockMany(background, []string{"b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	unlock(t, many)
	const wanted = "OBTAINED HOLD_AND_RELEASE SERIES_OBTAINED SERIES_HOLD_AND_RELEASE"
	until(t, wanted, func() bool { return h.kinds() == wanted })
	first, series := h.events[0], h.events[2]
	if first.Tag != 4711 || first.Key != "a" || first.Lock != held.Handle() || first.Token != held.Token() ||
		first.TTL != time.Minute || first.At.IsZero() || first.ObtainedAt.IsZero() || first.Instance == "" {
		t.Fatalf("%+v", first)
	}
	if strings.Join(series.Keys, " ") != "b c" {
		t.Fatalf("%+v", series)
	}
	if err := c.OnEvents(0, nil); err != nil {
		t.Fatal(err)
	}
	unlock(t, lock(t, c, "a"))
	if h.kinds() != wanted {
		t.Fatal("told though nobody listens: " + h.kinds())
	}
}

func TestAFirstTryThatFailsIsNotTold(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a")
	var h heard
	mask := liblock.EventMask(liblock.EventDequeuedOnLimit, liblock.EventObtained)
	if err := c.OnEvents(mask, h.hear); err != nil {
		t.Fatal(err)
	}
	_, err := c.Lock(background, "a", liblock.Wait(5*time.Millisecond))
	wants(t, err, liblock.ErrTimeout)
	unlock(t, held)
	unlock(t, lock(t, c, "a"))
	until(t, "both events", func() bool { return h.kinds() == "DEQUEUED_ON_LIMIT OBTAINED" })
}

func TestTheSamplerDecidesWhatIsTold(t *testing.T) {
	c := open(t)
	var h heard
	if err := c.OnEvents(liblock.EventMask(liblock.EventObtained), h.hear); err != nil {
		t.Fatal(err)
	}
	err := c.SetInstruments(&liblock.Instruments{EventsPercent: 50, LogPercent: 100, Histograms: true,
		EventsSampler: func(percent int, key *string, tag uint64) bool { return percent == 50 && *key == "told" }})
	if err != nil {
		t.Fatal(err)
	}
	unlock(t, lock(t, c, "untold"))
	unlock(t, lock(t, c, "told"))
	until(t, "one event", func() bool { return h.kinds() == "OBTAINED" })
	if h.events[0].Key != "told" {
		t.Fatal(h.events)
	}
	if acquired, err := c.Histogram(liblock.MeasureAcquire); err != nil || acquired.Count != 2 {
		t.Fatal(acquired, err)
	}
	if holds, err := c.Histogram(liblock.MeasureHold); err != nil || holds.Count != 2 {
		t.Fatal(holds, err)
	}
	if err := c.SetInstruments(nil); err != nil {
		t.Fatal(err)
	}
	wants(t, c.SetInstruments(&liblock.Instruments{EventsPercent: 101}), liblock.ErrInvalidArgument)
}

func TestTheLogHasFieldsAndASamplerOfItsOwn(t *testing.T) {
	c := open(t)
	var mutex sync.Mutex
	var entries []liblock.LogEntry
	instruments := liblock.NewInstruments()
	instruments.LogAttempts = true
	instruments.LogSampler = func(_ int, key *string, _ uint64) bool { return key != nil && *key == "a" }
	if err := c.SetInstruments(instruments); err != nil {
		t.Fatal(err)
	}
	err := c.OnLog(liblock.LogDebug, func(e liblock.LogEntry) {
		mutex.Lock()
		defer mutex.Unlock()
		entries = append(entries, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	unlock(t, lock(t, c, "a", liblock.EventTag(7)))
	unlock(t, lock(t, c, "b"))
	if err := c.OnLog(liblock.LogOff, nil); err != nil {
		t.Fatal(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	names, key := []string{}, ""
	for _, e := range entries {
		names = append(names, e.Name)
		for _, field := range e.Fields {
			if field.Name == "key" && e.Name == "obtained" {
				key, _ = field.Value().(string)
			}
		}
		if e.Tag != 7 || e.Message == "" || e.At.IsZero() || e.Level < liblock.LogError {
			t.Fatalf("%+v", e)
		}
	}
	if text := strings.Join(names, " "); !strings.Contains(text, "attempt_started") || key != "a" {
		t.Fatal(text, key)
	}
}

func TestStatisticsCountAndAreWrittenForPrometheus(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	unlock(t, lock(t, c, "b"))
	s, err := c.Stats()
	if err != nil || s.LocksHeld != 1 || s.Acquired != 2 || s.Released != 1 {
		t.Fatal(s, err)
	}
	text, err := c.Prometheus()
	if err != nil || !strings.Contains(text, "# TYPE") || !strings.HasSuffix(text, "\n") {
		t.Fatal(len(text), err)
	}
}
