// SPDX-License-Identifier: MIT

package liblock

// #include "bridge.h"
import "C"

// Status says how a call ended, in the words and numbers of liblock_status. Each status is also an error value, so
// that errors.Is(err, liblock.ErrBusy) asks for one; docs/errors.md gives cause and cure of each.
type Status int32

// The statuses. Err… are the same values under the names that errors have in Go.
const (
	OK                  Status = C.LIBLOCK_OK
	ErrBusy             Status = C.LIBLOCK_BUSY
	ErrTimeout          Status = C.LIBLOCK_TIMEOUT
	ErrRetriesExhausted Status = C.LIBLOCK_RETRIES_EXHAUSTED
	ErrCanceled         Status = C.LIBLOCK_CANCELED
	ErrDeadlock         Status = C.LIBLOCK_DEADLOCK
	ErrAlreadyHeld      Status = C.LIBLOCK_ALREADY_HELD
	ErrDequeued         Status = C.LIBLOCK_DEQUEUED
	ErrTooLate          Status = C.LIBLOCK_TOO_LATE
	ErrNotHeld          Status = C.LIBLOCK_NOT_HELD
	ErrLost             Status = C.LIBLOCK_LOST
	ErrNotOwner         Status = C.LIBLOCK_NOT_OWNER
	ErrInDoubt          Status = C.LIBLOCK_IN_DOUBT
	ErrPartial          Status = C.LIBLOCK_PARTIAL
	ErrNoQuorum         Status = C.LIBLOCK_NO_QUORUM
	ErrQuarantined      Status = C.LIBLOCK_QUARANTINED
	ErrNodesMismatch    Status = C.LIBLOCK_NODES_MISMATCH
	ErrConnect          Status = C.LIBLOCK_CONNECT
	ErrAuth             Status = C.LIBLOCK_AUTH
	ErrServer           Status = C.LIBLOCK_SERVER
	ErrWrongType        Status = C.LIBLOCK_WRONG_TYPE
	ErrReadOnly         Status = C.LIBLOCK_READ_ONLY
	ErrProtocol         Status = C.LIBLOCK_PROTOCOL
	ErrInvalidArgument  Status = C.LIBLOCK_INVALID_ARGUMENT
	ErrInvalidHandle    Status = C.LIBLOCK_INVALID_HANDLE
	ErrOptionsMismatch  Status = C.LIBLOCK_OPTIONS_MISMATCH
	ErrUnsupported      Status = C.LIBLOCK_UNSUPPORTED
	ErrLimit            Status = C.LIBLOCK_LIMIT
	ErrWouldDeadlock    Status = C.LIBLOCK_WOULD_DEADLOCK
	ErrClosed           Status = C.LIBLOCK_CLOSED
	ErrForked           Status = C.LIBLOCK_FORKED
	ErrNoMemory         Status = C.LIBLOCK_NO_MEMORY
	ErrInternal         Status = C.LIBLOCK_INTERNAL
)

// Predicate is what a status means beyond its name.
type Predicate int32

// The predicates; several may be or-ed.
const (
	Retryable Predicate = C.LIBLOCK_RETRYABLE  // the same call may succeed later without any change
	MaybeHeld Predicate = C.LIBLOCK_MAYBE_HELD // the lock may be, or may have been, held on a server
	LostLock  Predicate = C.LIBLOCK_LOST_LOCK  // the caller must stop what it does under the lock
)

// Name is "TIMEOUT" for ErrTimeout, and "UNKNOWN" for a number that is no status.
func (s Status) Name() string { return C.GoString(C.liblock_status_name(C.liblock_status(s))) }

// Error is one line of English for a person.
func (s Status) Error() string {
	return s.Name() + ": " + C.GoString(C.liblock_status_text(C.liblock_status(s)))
}

// Has says whether the status has all the predicates given.
func (s Status) Has(predicates Predicate) bool {
	return C.liblock_status_is(C.liblock_status(s), C.int32_t(predicates)) != 0
}

// Error is how every failing call of this package ends. It matches its Status with errors.Is, and also
// context.Canceled or context.DeadlineExceeded where the caller's context ended the call.
type Error struct {
	Op     string // the call: "acquire", "release" …
	Status Status
	// Message is the library's cause and cure; empty where only the status is known.
	Message string
	// Result is what the call told besides; its Status is that of the error. Infos of busy keys are in Busy.
	Result Result
	// Busy is the key that was in the way, its holder and waiters; nil unless BusyInfo was asked for.
	Busy  *Info
	cause error
}

// Error joins call, status and message.
func (e *Error) Error() string {
	text := "liblock: " + e.Op + ": " + e.Status.Name()
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.cause != nil {
		text += " (" + e.cause.Error() + ")"
	}
	return text
}

// Is matches the statuses.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// Unwrap is the end of the caller's context, where that ended the call.
func (e *Error) Unwrap() error { return e.cause }

// StatusOf is the status in an error's chain: OK for nil, ErrInternal for an error of another package.
func StatusOf(err error) Status {
	for err != nil {
		switch known := err.(type) {
		case *Error:
			return known.Status
		case Status:
			return known
		}
		unwrapper, ok := err.(interface{ Unwrap() error })
		if !ok {
			return ErrInternal
		}
		err = unwrapper.Unwrap()
	}
	return OK
}

// IsRetryable says that the same call may succeed later without any change.
func IsRetryable(err error) bool { return err != nil && StatusOf(err).Has(Retryable) }

func statusError(op string, status Status) error {
	if status == OK {
		return nil
	}
	text := C.GoString(C.liblock_status_text(C.liblock_status(status)))
	result := Result{Status: status, Message: text, Attempts: 1, RemainingMs: -1, QueuePosition: -1, QueueLength: -1}
	return &Error{Op: op, Status: status, Message: text, Result: result}
}

// Version is that of the loaded library, such as "0.1.0".
func Version() string { return C.GoString(C.liblock_version_string()) }

// VersionNumber is the same as a number that grows with every version.
func VersionNumber() uint32 { return uint32(C.liblock_version_number()) }
