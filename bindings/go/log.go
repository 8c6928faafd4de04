// SPDX-License-Identifier: MIT
// The library's log as a callback.

package liblock

// #include "bridge.h"
import "C"

import (
	"time"
	"unsafe"
)

// Level is that of a log entry; each contains those before it.
type Level int32

// The levels.
const (
	LogOff     Level = C.LIBLOCK_LOG_OFF
	LogError   Level = C.LIBLOCK_LOG_ERROR
	LogWarning Level = C.LIBLOCK_LOG_WARNING
	LogInfo    Level = C.LIBLOCK_LOG_INFO
	LogDebug   Level = C.LIBLOCK_LOG_DEBUG
)

// LogField is a number or a text; units come last in its name, as in hold_us.
type LogField struct {
	Name   string
	IsText bool
	Number int64
	Text   string
}

// Value is the field's int64 or string.
func (f LogField) Value() interface{} {
	if f.IsText {
		return f.Text
	}
	return f.Number
}

// LogEntry is one entry of the log, copied: it may be kept.
type LogEntry struct {
	ID      int32 // LIBLOCK_ENTRY_… of liblock.h
	Level   Level
	At      time.Time
	Name    string // of the id: "attempt_started"
	Message string
	Tag     uint64 // EventTag of the acquire
	Fields  []LogField
}

func entryOf(e *C.liblock_log_entry) LogEntry {
	out := LogEntry{
		ID: int32(e.id), Level: Level(e.level), At: timeOfUs(int64(e.at_us)), Name: C.GoString(e.name),
		Message: C.GoString(e.message), Tag: uint64(e.tag),
	}
	if e.fields == nil {
		return out
	}
	for _, field := range unsafe.Slice(e.fields, int(e.field_count)) {
		out.Fields = append(out.Fields, LogField{
			Name: C.GoString(field.name), IsText: field._type == C.LIBLOCK_FIELD_TEXT, Number: int64(field.number),
			Text: goString(field.text),
		})
	}
	return out
}

// OnLog writes entries of this level and below to write from now on; LogOff or nil = none any more. It is called on
// whatever thread the entry comes from, by several at once: it must be quick, must not block, call the library or
// panic.
func (c *Context) OnLog(level Level, write func(LogEntry)) error {
	if !c.enter() {
		return closedError("set_log")
	}
	defer c.leave()
	var id uintptr
	if write != nil {
		id = c.callback("log", write)
	}
	status := Status(C.bridge_set_log(c.handle, C.int32_t(level), C.uintptr_t(id)))
	c.listened("log", write != nil && level != LogOff && status == OK)
	return statusError("set_log", status)
}

// Sampler decides whether an acquire is told about: percent is what Instruments says, key the first that was given and
// nil for the global lock. It runs on the thread that acquires and must not block, call the library or panic.
type Sampler func(percent int, key *string, tag uint64) bool

// Instruments say what is told and measured of the acquires that begin from now on. Zero means zero: begin with
// NewInstruments.
type Instruments struct {
	EventsPercent int     // of the acquires that are told about in events, 0 to 100
	LogPercent    int     // the same of the log
	EventsSampler Sampler // decides instead of chance; nil = none
	LogSampler    Sampler
	EventsMax     int64 // events that wait to be delivered, 1 to 1,048,576; 0 = 65,536; one more is dropped and counted
	LogAttempts   bool  // log each step of each attempt
	Histograms    bool  // measure every acquire and hold of this context
}

// NewInstruments has the defaults, to change some: everything told, nothing measured.
func NewInstruments() *Instruments { return &Instruments{EventsPercent: 100, LogPercent: 100} }

// SetInstruments sets sampling and measuring; nil = all defaults (everything told, nothing measured).
func (c *Context) SetInstruments(instruments *Instruments) error {
	if !c.enter() {
		return closedError("set_instruments")
	}
	defer c.leave()
	if instruments == nil {
		return statusError("set_instruments", Status(C.liblock_set_instruments(c.handle, nil)))
	}
	var o C.liblock_instrument_options
	C.liblock_instrument_options_init(&o, C.sizeof_liblock_instrument_options)
	o.events_percent, o.log_percent = C.int32_t(instruments.EventsPercent), C.int32_t(instruments.LogPercent)
	if instruments.EventsMax != 0 {
		o.events_max = C.int64_t(instruments.EventsMax)
	}
	if instruments.LogAttempts {
		o.log_attempts = 1
	}
	if instruments.Histograms {
		o.histograms = 1
	}
	var events, log uintptr
	if instruments.EventsSampler != nil {
		events = c.callback("events_sampler", instruments.EventsSampler)
	}
	if instruments.LogSampler != nil {
		log = c.callback("log_sampler", instruments.LogSampler)
	}
	status := Status(C.bridge_instruments(c.handle, &o, C.uintptr_t(events), C.uintptr_t(log)))
	return statusError("set_instruments", status)
}
