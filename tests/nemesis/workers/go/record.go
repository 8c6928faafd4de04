// SPDX-License-Identifier: MIT
// What the worker writes down, and the resource: see tests/integration/client_record.c.

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

const (
	idle = iota
	isAsking
	isHolding
	isReleasing
)

const clockMonotonic = 1

// moment is in the file as it stands here.
type moment struct {
	State, Key, Token  uint64
	Asked, From, Until int64
}

type place struct{ Token, Value, Written, Refused uint64 }

type record struct {
	name               string
	now                moment
	file, log, shelter *os.File
}

// nowNs is the clock that all processes share; that of the package time begins anew in each.
func nowNs() int64 {
	var now syscall.Timespec
	_, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	if failed != 0 {
		log.Fatal(failed)
	}
	return now.Nano()
}

func openRecord(directory, name string) *record {
	open := func(file string, flags int) *os.File {
		opened, err := os.OpenFile(filepath.Join(directory, file), flags, 0o600)
		if err != nil {
			log.Fatal(err)
		}
		return opened
	}
	r := &record{name: name, file: open(name+".now", os.O_RDWR|os.O_CREATE),
		log: open(name+".log", os.O_WRONLY|os.O_CREATE|os.O_APPEND), shelter: open("resource", os.O_RDWR)}
	r.write()
	return r
}

func put(file *os.File, what interface{}, at int64) {
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, what); err != nil {
		log.Fatal(err)
	}
	if _, err := file.WriteAt(raw.Bytes(), at); err != nil {
		log.Fatal(err)
	}
}

func (r *record) write() { put(r.file, &r.now, 0) }

func (r *record) asking(key int) {
	r.now = moment{State: isAsking, Key: uint64(key), Asked: nowNs()}
	r.write()
}

func (r *record) holding(token uint64) {
	r.now.State, r.now.Token, r.now.From = isHolding, token, nowNs()
	r.write()
}

func (r *record) until(ns int64) {
	r.now.Until = ns
	r.write()
}

func (r *record) releasing() {
	r.now.State = isReleasing
	r.write()
}

func (r *record) ended(status int) {
	now, ended := r.now, nowNs()
	r.now.State = idle
	r.write()
	line := fmt.Sprintf("call k%d %s %d %d %d %d\n", now.Key, r.name, now.Token, now.Asked, ended, status)
	if now.From > 0 && now.Until > now.From {
		line = fmt.Sprintf("hold k%d %s %d %d %d %d %d %d\n", now.Key, r.name, now.Token, now.Asked, now.From, now.Until,
			ended, status)
	}
	if _, err := r.log.WriteString(line); err != nil {
		log.Fatal(err)
	}
}

// visit reads, or writes the value that is given; false: refused, since a larger token was here.
func (r *record) visit(key int, token uint64, value *uint64) (uint64, bool) {
	descriptor := int(r.shelter.Fd())
	for syscall.Flock(descriptor, syscall.LOCK_EX) == syscall.EINTR {
	}
	defer syscall.Flock(descriptor, syscall.LOCK_UN)
	var here place
	raw := make([]byte, binary.Size(here))
	at := int64(key * len(raw))
	if _, err := r.shelter.ReadAt(raw, at); err != nil {
		log.Fatal(err)
	}
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, &here); err != nil {
		log.Fatal(err)
	}
	isAllowed := token >= here.Token
	if isAllowed {
		here.Token = token
	} else {
		here.Refused++
	}
	if isAllowed && value != nil {
		here.Value = *value
		here.Written++
	}
	put(r.shelter, &here, at)
	return here.Value, isAllowed
}
