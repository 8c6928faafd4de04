// SPDX-License-Identifier: MIT

//go:build go1.21

package liblock_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	liblock "liblock.dev/go"
)

type guarded struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (g *guarded) Write(data []byte) (int, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.Buffer.Write(data)
}

func TestTheLogGoesToSlog(t *testing.T) {
	c := open(t)
	var out guarded
	handler := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})
	if err := c.SlogTo(handler, liblock.LogDebug); err != nil {
		t.Fatal(err)
	}
	unlock(t, lock(t, c, "a", liblock.EventTag(7)))
	if err := c.OnLog(liblock.LogOff, nil); err != nil {
		t.Fatal(err)
	}
	out.mutex.Lock()
	defer out.mutex.Unlock()
	for _, wanted := range []string{"entry=obtained", "key=a", "tag=7", "entry=released"} {
		if !strings.Contains(out.String(), wanted) {
			t.Fatalf("no %s in %s", wanted, out.String())
		}
	}
}

func TestTheLogThatGoesToSlogHasNoPassword(t *testing.T) {
	s := newSecret(t)
	c := openURL(t, "redis://locker:"+string(s)+"@127.0.0.1:1") // nobody listens there
	var out guarded
	handler := slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})
	if err := c.SlogTo(handler, liblock.LogDebug); err != nil {
		t.Fatal(err)
	}
	_, err := c.Lock(background, "a")
	wants(t, err, liblock.ErrConnect)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	out.mutex.Lock()
	defer out.mutex.Unlock()
	if text := out.String(); text == "" || s.isIn(text) {
		t.Error(text)
	}
}
