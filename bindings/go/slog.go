// SPDX-License-Identifier: MIT

//go:build go1.21

package liblock

import (
	"context"
	"log/slog"
)

// SlogLevel is the level of slog that stands for a level of the library.
func SlogLevel(level Level) slog.Level {
	switch level {
	case LogError:
		return slog.LevelError
	case LogWarning:
		return slog.LevelWarn
	case LogInfo:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// SlogTo writes the context's log, up to level, to a handler of slog: an attribute per field, named as it is, and
// "tag" where the acquire had one. The handler is called on threads of the library, by several at once, and must not
// block.
func (c *Context) SlogTo(handler slog.Handler, level Level) error {
	return c.OnLog(level, func(entry LogEntry) {
		ctx := context.Background()
		if !handler.Enabled(ctx, SlogLevel(entry.Level)) {
			return
		}
		record := slog.NewRecord(entry.At, SlogLevel(entry.Level), entry.Message, 0)
		record.AddAttrs(slog.String("entry", entry.Name))
		if entry.Tag != 0 {
			record.AddAttrs(slog.Uint64("tag", entry.Tag))
		}
		for _, field := range entry.Fields {
			record.AddAttrs(slog.Any(field.Name, field.Value()))
		}
		_ = handler.Handle(ctx, record) // there is nobody to tell of a log that cannot be written
	})
}
