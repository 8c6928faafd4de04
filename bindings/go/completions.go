// SPDX-License-Identifier: MIT
// One reader per context: ends of requests come out of a completion queue that the network poller watches.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Kind says what a Completion is the end of.
type Kind int32

// The kinds that a queue can bring.
const (
	KindAcquire Kind = C.LIBLOCK_KIND_ACQUIRE
	KindLost    Kind = C.LIBLOCK_KIND_LOST
)

// Completion is the end of a request that was made by Submit, or the notice that a lock was lost.
type Completion struct {
	Kind      Kind
	Status    Status
	Request   Request // 0 for a notice
	UserData  uint64  // as Submit was given it
	Lock      *Lock   // the grant; nil for everything else
	Handle    uint64  // the library's name of the lock, as Lock.Handle has it; of a notice, which lock was lost
	Token     uint64
	Remaining time.Duration // Forever = no expiry
	Waited    time.Duration
	Message   string
	Busy      *Info // of a failed acquire with BusyInfo
}

// Completions is a queue in which the ends of requests are read in the order in which they came. Reading it keeps no
// thread: the network poller of Go waits for the queue's descriptor. Most programs call Lock instead.
type Completions struct {
	counted
	c       *core // not the Context: it must be found unreachable while a queue is read
	handle  *C.liblock_completions
	file    *os.File // a duplicate of the queue's descriptor, which only the library may read
	conn    syscall.RawConn
	turn    chan struct{} // has room for whoever reads entries, first and count
	waits   atomic.Bool   // who has the turn has found nothing, and waits
	entries []C.bridge_completion
	first   int
	count   C.size_t
	ending  sync.Once
}

// OpenCompletions opens a queue of 1 to 1,048,576 entries: requests that find it full are ErrLimit, notices are
// dropped and counted. End it by Close. Errors: ErrLimit, ErrInternal (no descriptor left).
func (c *Context) OpenCompletions(capacity int) (*Completions, error) {
	if !c.enter() {
		return nil, closedError("completions_open")
	}
	answer := C.bridge_completions_open(c.handle, C.size_t(capacity))
	if err := settle(context.Background(), "completions_open", &answer); err != nil {
		c.leave()
		return nil, err
	}
	q := &Completions{c: c.core, handle: (*C.liblock_completions)(answer.object), turn: make(chan struct{}, 1)}
	q.entries = make([]C.bridge_completion, 64)
	q.uses.Store(1)
	if err := q.poll(); err != nil {
		C.liblock_completions_free(q.handle)
		c.leave()
		return nil, err
	}
	return q, nil
}

func (q *Completions) poll() error {
	var fd C.int32_t
	if status := Status(C.liblock_completions_fd(q.handle, &fd)); status != OK {
		return statusError("completions_fd", status)
	}
	copied, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return &Error{Op: "completions_fd", Status: ErrInternal, Message: errno.Error()}
	}
	q.file = os.NewFile(copied, "liblock-completions")
	conn, err := q.file.SyscallConn()
	if err == nil {
		err = q.file.SetReadDeadline(time.Time{}) // refused where the descriptor cannot be polled
	}
	if err != nil {
		q.file.Close()
		return &Error{Op: "completions_fd", Status: ErrInternal, Message: err.Error()}
	}
	q.conn = conn
	return nil
}

func (q *Completions) leave() {
	if q.uses.Add(-1) == 0 {
		q.giveBack()
		C.liblock_completions_free(q.handle)
		q.c.leave()
	}
}

// giveBack releases what was granted and taken out of the library's queue, and that nobody will read any more.
func (q *Completions) giveBack() {
	for ; q.first < int(q.count); q.first++ {
		entry := &q.entries[q.first]
		endOf(entry).drop()
		if Kind(entry.kind) == KindAcquire && Status(entry.status) == OK {
			q.c.giveBack(uint64(entry.lock))
		}
	}
}

// Stop takes no new requests; what is pending still comes, and Next answers ErrClosed after the last.
func (q *Completions) Stop() {
	if !q.enter() {
		return
	}
	defer q.leave()
	C.liblock_completions_close(q.handle)
	q.file.SetReadDeadline(time.Unix(1, 0)) // the descriptor says nothing of this: wake the reader to look again
}

// Close frees the queue: what still comes is dropped, locks granted to it unread are released. A second call does
// nothing. A Next that waits answers ErrClosed.
func (q *Completions) Close() {
	q.ending.Do(func() {
		if q.c.isForked() {
			leaveToParent(q)
			return
		}
		q.file.Close()
		q.leave()
		objects.each(func(object interface{}) bool {
			made, ok := object.(*submission)
			return ok && made.queue == q
		}, func(object interface{}) { object.(*submission).pending.ended(ErrCanceled) })
	})
}

// fill reads a batch of entries, waiting until there are some, the queue is closed, or the deadline has passed.
func (q *Completions) fill() error {
	var status Status
	err := q.conn.Read(func(uintptr) bool {
		q.waits.Store(false)
		q.first = 0
		status = Status(C.bridge_drain(q.handle, &q.entries[0], C.size_t(len(q.entries)), &q.count))
		done := q.count > 0 || status != ErrTimeout
		q.waits.Store(!done)
		return done
	})
	q.waits.Store(false)
	switch {
	case q.count > 0:
		return nil
	case err == nil:
		return statusError("completions_next", status)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return closedError("completions_next") // the file was closed under the reader
}

// take is the next entry, waiting for it until done is closed.
func (q *Completions) take(done <-chan struct{}) (C.bridge_completion, error) {
	select {
	case q.turn <- struct{}{}:
	case <-done:
		return C.bridge_completion{}, os.ErrDeadlineExceeded
	}
	defer func() { <-q.turn }()
	q.file.SetReadDeadline(time.Time{})
	if done != nil {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			select {
			case <-done:
				q.file.SetReadDeadline(time.Unix(1, 0))
			case <-stop:
			}
		}()
		defer func() { close(stop); <-stopped }()
	}
	for q.first >= int(q.count) {
		q.first, q.count = 0, 0
		err := q.fill()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			select {
			case <-done:
			default: // woken by Stop: look again
				q.file.SetReadDeadline(time.Time{})
				select {
				case <-done: // at this moment: its own deadline is the one that was taken away
				default:
					continue
				}
			}
		}
		if err != nil {
			return C.bridge_completion{}, err
		}
	}
	q.first++
	return q.entries[q.first-1], nil
}

// Next is the next end or notice, waiting for it. Errors: ErrClosed (stopped and empty), ErrCanceled with the end of
// ctx.
func (q *Completions) Next(ctx context.Context) (Completion, error) {
	if !q.enter() {
		return Completion{}, closedIn(ctx, "completions_next")
	}
	defer q.leave()
	entry, err := q.take(ctx.Done())
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Completion{}, endedBy(ctx, "completions_next", ErrCanceled)
	}
	if err != nil {
		return Completion{}, err
	}
	return q.completionOf(&entry), nil
}

// TryNext is Next without waiting; false when there is nothing.
func (q *Completions) TryNext() (Completion, bool) {
	if !q.enter() {
		return Completion{}, false
	}
	defer q.leave()
	for taken := false; !taken; {
		select {
		case q.turn <- struct{}{}:
			taken = true
		default:
			if q.waits.Load() {
				return Completion{}, false
			}
			runtime.Gosched()
		}
	}
	defer func() { <-q.turn }()
	if q.first >= int(q.count) {
		q.first = 0
		C.bridge_drain(q.handle, &q.entries[0], C.size_t(len(q.entries)), &q.count)
	}
	if q.first >= int(q.count) {
		return Completion{}, false
	}
	q.first++
	return q.completionOf(&q.entries[q.first-1]), true
}

func (q *Completions) completionOf(entry *C.bridge_completion) Completion {
	completion := Completion{
		Kind: Kind(entry.kind), Status: Status(entry.status), Request: Request(entry.request),
		Handle: uint64(entry.lock), Token: uint64(entry.token), Remaining: fromMs(int64(entry.remaining_ms)),
		Waited: fromMs(int64(entry.waited_ms)), Message: C.GoString(entry.message),
	}
	if entry.info != nil {
		completion.Busy = takeInfo(entry.info)
	}
	if completion.Kind != KindAcquire {
		return completion
	}
	made, _ := objects.take(uintptr(entry.id)).(*submission)
	if made == nil { // Close was faster, and has told who asked that it came to nothing
		if completion.Status == OK {
			q.c.giveBack(completion.Handle)
		}
		return Completion{Kind: KindAcquire, Status: ErrCanceled, Request: completion.Request}
	}
	completion.UserData = made.userData
	made.pending.ended(completion.Status)
	if completion.Status == OK {
		completion.Lock = made.pending.granted(uint64(entry.lock), endOf(entry).result())
	}
	return completion
}
