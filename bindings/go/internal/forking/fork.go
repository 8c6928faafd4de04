// SPDX-License-Identifier: MIT

// Package forking has the bare fork of the C library, for tests of what the child of one finds. Of such a child's
// threads only the one that forked is left, so that it must start no goroutine that waits, and end by Exit.
package forking

// #include <unistd.h>
import "C"

// Fork is 0 in the child, and in the parent the child's process.
func Fork() int { return int(C.fork()) }

// Exit ends the process without anything that belongs to its parent.
func Exit(status int) { C._exit(C.int(status)) }
