// SPDX-License-Identifier: MIT
// Memory that is handed to C for the time of a call.

package liblock

// #include "bridge.h"
import "C"

import (
	"strings"
	"unsafe"
)

// keyPtr lends the bytes of a string to C for the length of a call. The type of the result matters: a pointer to char
// is known to hold no Go pointers and costs no check.
func keyPtr(s string) *C.char { return *(**C.char)(unsafe.Pointer(&s)) }

func bytesPtr(b []byte) *C.char {
	if len(b) == 0 {
		return nil
	}
	return (*C.char)(unsafe.Pointer(&b[0]))
}

// arena is C memory for what options point at; it lives as long as the call that is given them.
type arena struct {
	blocks [][]byte
	hasNUL bool // a text would be cut off
}

// refuse answers the call for which a text was copied that C would read only a part of.
func (a *arena) refuse(op string) error {
	if !a.hasNUL {
		return nil
	}
	return invalid(op, "a text has a NUL in it, where C would cut it off: leave it out")
}

// invalid is what the binding itself refuses.
func invalid(op, message string) error {
	return &Error{Op: op, Status: ErrInvalidArgument, Message: message,
		Result: Result{Status: ErrInvalidArgument, Message: message}}
}

func (a *arena) get(size uintptr) unsafe.Pointer {
	block := C.calloc(1, C.size_t(size)+1) // never nil: cgo ends the program where there is no memory
	a.blocks = append(a.blocks, unsafe.Slice((*byte)(block), int(size)+1))
	return block
}

func (a *arena) free() {
	for _, block := range a.blocks {
		for i := range block { // there may be a password in it
			block[i] = 0
		}
		C.free(unsafe.Pointer(&block[0]))
	}
	a.blocks = nil
}

func (a *arena) bytes(data string) C.liblock_bytes {
	block := a.get(uintptr(len(data)))
	copy(unsafe.Slice((*byte)(block), len(data)+1), data)
	return C.liblock_bytes{data: block, size: C.size_t(len(data))}
}

func (a *arena) text(data string) *C.char {
	a.hasNUL = a.hasNUL || strings.IndexByte(data, 0) >= 0
	return (*C.char)(a.bytes(data).data)
}

func (a *arena) list(keys []string) *C.liblock_bytes {
	block := (*C.liblock_bytes)(a.get(uintptr(len(keys)) * C.sizeof_liblock_bytes))
	list := unsafe.Slice(block, len(keys))
	for i, key := range keys {
		list[i] = a.bytes(key)
	}
	return block
}

func (a *arena) texts(words []string) **C.char {
	if len(words) == 0 {
		return nil
	}
	block := (**C.char)(a.get(uintptr(len(words)) * unsafe.Sizeof(uintptr(0))))
	list := unsafe.Slice(block, len(words))
	for i, word := range words {
		list[i] = a.text(word)
	}
	return block
}

func goString(b C.liblock_bytes) string {
	if b.size == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(b.data), int(b.size)))
}

func goBytes(b C.liblock_bytes) []byte {
	return append([]byte{}, unsafe.Slice((*byte)(b.data), int(b.size))...)
}

// grown calls fill with ever larger buffers until the text fits.
func grown(fill func(buffer *C.char, size C.size_t, needed *C.size_t) Status) (string, Status) {
	size := 512
	for {
		buffer := make([]byte, size)
		var needed C.size_t
		status := fill(bytesPtr(buffer), C.size_t(size), &needed)
		if int(needed) < size || status != OK {
			return string(buffer[:smaller(int(needed), size-1)]), status
		}
		size = int(needed) + 64
	}
}

func smaller(a, b int) int {
	if a < b {
		return a
	}
	return b
}
