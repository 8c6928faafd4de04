// SPDX-License-Identifier: MIT
// A password is planted in urls, lists of servers and options: nothing that this package makes of it prints it.

package liblock_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// secret is a password of letters and digits, told apart by chance from all else.
type secret string

func newSecret(t *testing.T) secret {
	t.Helper()
	bytes := make([]byte, 10)
	if _, err := rand.Read(bytes); err != nil {
		t.Fatal(err)
	}
	return secret("S3cr" + hex.EncodeToString(bytes))
}

// encoded is the same for a url, every character of it.
func (s secret) encoded() string {
	var out strings.Builder
	for _, b := range []byte(s) {
		fmt.Fprintf(&out, "%%%02X", b)
	}
	return out.String()
}

// disguises are what fmt makes of a text and of its bytes, and what others do.
func (s secret) disguises() []string {
	bytes, digits := []byte(s), fmt.Sprintf("%#v", []byte(s))
	return []string{string(s), s.encoded(), strings.ToLower(s.encoded()), hex.EncodeToString(bytes),
		strings.Trim(fmt.Sprint(bytes), "[]"), digits[strings.Index(digits, "{")+1 : len(digits)-1],
		base64.RawStdEncoding.EncodeToString(bytes), string(s[:12]), string(s[len(s)-12:])}
}

func (s secret) isIn(text string) bool {
	for _, disguise := range s.disguises() {
		if strings.Contains(text, disguise) {
			return true
		}
	}
	return false
}

// printed looks through all that fmt has to say of these.
func (s secret) printed(t *testing.T, things ...interface{}) {
	t.Helper()
	for _, thing := range things {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(format, thing); s.isIn(text) {
				t.Errorf("%s of a %T: %s", format, thing, text)
			}
		}
	}
}

// hangsOn says whether the password is in a text, however deep, that one comes to from a value: fmt follows pointers
// no further than to the first, others that print things do.
func (s secret) hangsOn(v reflect.Value, seen map[uintptr]bool) bool {
	switch v.Kind() {
	case reflect.String:
		return s.isIn(v.String())
	case reflect.Ptr:
		if v.IsNil() || seen[v.Pointer()] {
			return false
		}
		seen[v.Pointer()] = true
		return s.hangsOn(v.Elem(), seen)
	case reflect.Interface:
		return !v.IsNil() && s.hangsOn(v.Elem(), seen)
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if s.hangsOn(v.Field(i), seen) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			bytes := make([]byte, v.Len())
			for i := range bytes {
				bytes[i] = byte(v.Index(i).Uint())
			}
			return s.isIn(string(bytes))
		}
		for i := 0; i < v.Len(); i++ {
			if s.hangsOn(v.Index(i), seen) {
				return true
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if s.hangsOn(key, seen) || s.hangsOn(v.MapIndex(key), seen) {
				return true
			}
		}
	}
	return false
}

// nowhere does with a context what can be done with one, and looks through all that it gets to see. It answers how the
// context's Ping ended.
func (s secret) nowhere(t *testing.T, url string, options ...liblock.Option) error {
	t.Helper()
	for _, option := range options {
		s.printed(t, option)
	}
	c := openURL(t, url, append(options, liblock.MaxTTL(time.Second), liblock.Timeouts(time.Second, time.Second, 0))...)
	var mutex sync.Mutex
	var told []interface{}
	if err := c.OnLog(liblock.LogDebug, func(entry liblock.LogEntry) {
		mutex.Lock()
		defer mutex.Unlock()
		told = append(told, entry)
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.OnEvents(liblock.AllEvents, func(event liblock.Event) {
		mutex.Lock()
		defer mutex.Unlock()
		told = append(told, event)
	}); err != nil {
		t.Fatal(err)
	}
	pinged := c.Ping(background)
	s.printed(t, c, c.Opened(), pinged)
	if isGranted := s.used(t, c); isGranted != (pinged == nil) {
		t.Error("granted: ", isGranted, ", and the ping ended with ", pinged)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s.printed(t, c)
	if s.hangsOn(reflect.ValueOf(c), map[uintptr]bool{}) {
		t.Error("something keeps the password that one comes to from the context")
	}
	mutex.Lock()
	defer mutex.Unlock()
	if len(told) == 0 {
		t.Error("neither an event nor the log was told")
	}
	s.printed(t, told...)
	return pinged
}

// used looks through all that one gets by a context, errors too, and answers whether it has granted a lock.
func (s secret) used(t *testing.T, c *liblock.Context) (isGranted bool) {
	t.Helper()
	var result liblock.Result
	l, err := c.Lock(liblock.WithResult(background, &result), "a", liblock.TTL(time.Second), liblock.Wait(time.Second),
		liblock.BusyInfo())
	s.printed(t, l, err, result)
	if isGranted = err == nil; isGranted {
		info, err := c.InspectQueue(background, "a")
		s.printed(t, l.Result(), l.Verify(background), l.Extend(background, time.Second), info, err)
		_, err = c.Lock(background, "a", liblock.Wait(time.Millisecond), liblock.BusyInfo())
		s.printed(t, err, l.Unlock(background), l.Unlock(background))
	}
	on := liblock.OnNodes([]string{"redis://me:" + string(s) + "@127.0.0.1:1"}, liblock.FailIfDisjoint)
	_, err = c.TryLock(background, "a", on)
	_, read := c.Read(background, "a", liblock.ReadNearest, "redis://me:"+string(s)+"@127.0.0.1:1")
	s.printed(t, on, err, read, c.NewLocker(background, "a", on))
	o, err := c.OpenOwner("o")
	queue, queueErr := c.OpenCompletions(4)
	if err != nil || queueErr != nil {
		t.Fatal(err, queueErr)
	}
	request, err := c.Submit(queue, 0, "a", liblock.Wait(time.Second))
	s.printed(t, o, queue, request, err)
	if err == nil {
		end, err := queue.Next(background)
		s.printed(t, end, end.Lock, end.Busy, err)
	}
	queue.Close()
	cursor, err := c.List(background, liblock.Locks)
	s.printed(t, cursor, err)
	if cursor != nil {
		s.printed(t, cursor.Next(), cursor.Info(), cursor.Err())
		cursor.Close()
	}
	s.looked(t, c)
	return isGranted
}

// looked is the same for what asks no key.
func (s secret) looked(t *testing.T, c *liblock.Context) {
	t.Helper()
	stats, err := c.Stats()
	text, textErr := c.Prometheus()
	id, idErr := c.InstanceID()
	zombies, zombiesErr := c.Zombies()
	s.printed(t, stats, err, text, textErr, id, idErr, zombies, zombiesErr)
	_, err = c.EachInstance(background, false, func(i liblock.Instance) bool { s.printed(t, i); return true })
	report, clearErr := c.Clear(background)
	s.printed(t, err, report, clearErr)
	state, nodes, why, err := c.QuorumStatus()
	s.printed(t, state, nodes, why, err)
	unreadable := []string{"redis://me:" + string(s) + "@host:0", "nonsense://me:" + s.encoded() + "@host"}
	s.printed(t, c.QuorumSetNodes(background, unreadable, nil, 0))
}

// locked starts a server on a port that knows the user "locker" by the password.
func (s secret) locked(t *testing.T) (host string) {
	t.Helper()
	port := fmt.Sprint(freePort(t))
	server(t, "--port", port, "--bind", "127.0.0.1", "--user", "locker", "on", ">"+string(s), "~*", "&*", "+@all")
	return "127.0.0.1:" + port
}

func TestNothingPrintsAPasswordThatWasInAURL(t *testing.T) {
	s := newSecret(t)
	host := s.locked(t)
	for url, status := range map[string]liblock.Status{
		"redis://locker:" + string(s) + "@" + host:       liblock.OK,
		"redis://locker:" + s.encoded() + "@" + host:     liblock.OK,
		"redis://locker:" + string(s) + "%21@" + host:    liblock.ErrAuth,
		"redis://somebody:" + s.encoded() + "@" + host:   liblock.ErrAuth,
		"redis://:" + string(s) + "@" + host:             liblock.ErrAuth,
		"redis://" + string(s) + "@" + host:              liblock.ErrAuth,    // forgot the colon: it is taken for a user
		"redis://locker:" + string(s) + "@127.0.0.1:1":   liblock.ErrConnect, // nobody listens there
		"redis://locker:" + s.encoded() + "@127.0.0.1:1": liblock.ErrConnect,
	} {
		if err := s.nowhere(t, url); liblock.StatusOf(err) != status {
			t.Error(strings.ReplaceAll(url, string(s), "…"), err)
		}
	}
}

func TestNothingPrintsAPasswordThatWasInTheOptions(t *testing.T) {
	s := newSecret(t)
	url := "redis://" + s.locked(t)
	if err := s.nowhere(t, url, liblock.Credentials("locker", string(s))); err != nil {
		t.Error(err)
	}
	wants(t, s.nowhere(t, url, liblock.Credentials("somebody", string(s))), liblock.ErrAuth)
}

func TestNothingPrintsThePasswordsOfTheNodesOfAQuorum(t *testing.T) {
	s := newSecret(t)
	var plain, encoded []string
	for i := 0; i < 4; i++ { // the last is told of locks, and has no vote
		host := s.locked(t)
		plain = append(plain, "redis://locker:"+string(s)+"@"+host)
		encoded = append(encoded, "redis://locker:"+s.encoded()+"@"+host)
	}
	founded(t, plain[:3])
	for _, urls := range [][]string{plain, encoded} {
		if err := s.nowhere(t, "quorum:"+strings.Join(urls[:3], ",")); err != nil {
			t.Error(err)
		}
		if err := s.nowhere(t, "", liblock.Servers(urls[:3], urls[3:])); err != nil {
			t.Error(err)
		}
	}
	wrong := "quorum:" + strings.ReplaceAll(strings.Join(plain[:3], ","), "locker", "somebody")
	_, err := liblock.Open(background, wrong)
	wants(t, err, liblock.ErrAuth)
	s.printed(t, err)
}

func TestNoErrorPrintsAPasswordThatWasInAURLWhichCannotBeRead(t *testing.T) {
	for _, form := range []string{"redis://me:{}@", "redis://me:{}@host:0", "redis://me:{}%zz@host", "redis:/{}@host",
		"redis://:{}@host/notanumber", "http://me:{}@host", "{}", "redis://me:{}@[::1", "redis://{} a", "unix://{}?db=x",
		"quorum:redis://a,redis://me:{}@b c", "quorum:{}", "redis://me:{}\x00@host"} {
		s := newSecret(t)
		for _, password := range []string{string(s), s.encoded()} {
			url := strings.ReplaceAll(form, "{}", password)
			_, err := liblock.Open(background, url)
			_, listed := liblock.Open(background, "", liblock.Servers([]string{url}, []string{url}))
			for _, refused := range []error{err, listed} {
				if refused == nil {
					t.Error(form, " was read")
				}
				s.printed(t, refused)
			}
		}
	}
}
