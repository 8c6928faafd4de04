// SPDX-License-Identifier: MIT
// JSON that refuses repeated fields.

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// JSON as scenarios are made of it: an object, []interface{}, string, json.Number, bool or nil. An object remembers
// the order of its fields, so that what is shown of a step is as it was written.
type object struct {
	names  []string
	fields map[string]interface{}
}

func (o *object) get(name string) interface{} {
	if o == nil {
		return nil
	}
	return o.fields[name]
}

func (o *object) has(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.fields[name]
	return ok
}

func (o *object) set(name string, value interface{}) *object {
	if !o.has(name) {
		o.names = append(o.names, name)
	}
	o.fields[name] = value
	return o
}

func newObject() *object { return &object{fields: map[string]interface{}{}} }

func (o *object) text(name string) string {
	text, _ := o.get(name).(string)
	return text
}

func (o *object) list(name string) []interface{} {
	list, _ := o.get(name).([]interface{})
	return list
}

func (o *object) isTrue(name string) bool { return o.get(name) == true }

func number(value interface{}) (int64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

// parse reads one value and refuses an object that repeats a field: one of the two would be ignored.
func parse(data []byte) (interface{}, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := parseValue(decoder)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:decoder.InputOffset()], []byte("\n")), err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something stands behind the end of the file")
	}
	return value, nil
}

func parseValue(decoder *json.Decoder) (interface{}, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := newObject()
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := parseValue(decoder)
			if err != nil {
				return nil, err
			}
			if o.has(name.(string)) {
				return nil, fmt.Errorf("duplicate object key near %q", name)
			}
			o.set(name.(string), value)
		}
		_, err = decoder.Token()
		return o, err
	case json.Delim('['):
		list := []interface{}{}
		for decoder.More() {
			value, err := parseValue(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	}
	return token, nil
}

// line writes a value as one line of JSON.
func line(value interface{}) string {
	var text strings.Builder
	write(&text, value)
	if out := text.String(); len(out) <= 900 {
		return out
	}
	return text.String()[:900]
}

func write(out *strings.Builder, value interface{}) {
	switch v := value.(type) {
	case *object:
		out.WriteByte('{')
		for i, name := range v.names {
			if i > 0 {
				out.WriteByte(',')
			}
			write(out, name)
			out.WriteByte(':')
			write(out, v.fields[name])
		}
		out.WriteByte('}')
	case []interface{}:
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			write(out, item)
		}
		out.WriteByte(']')
	default:
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(v) == nil {
			out.WriteString(strings.TrimSuffix(text.String(), "\n"))
		}
	}
}

func equal(left, right interface{}) bool { return line(left) == line(right) }

// bytesOf reads "text", {"hex": "00ff"} or {"repeat": "k", "times": 512}.
func bytesOf(node interface{}) (string, error) {
	if text, ok := node.(string); ok {
		return text, nil
	}
	o, _ := node.(*object)
	if o != nil && len(o.names) == 1 && o.has("hex") {
		digits, ok := o.get("hex").(string)
		if ok && len(digits)%2 != 0 {
			return "", fmt.Errorf("\"hex\" needs an even number of digits: %s", digits)
		}
		data, err := hex.DecodeString(digits)
		if !ok || err != nil || digits != strings.ToLower(digits) {
			return "", fmt.Errorf("\"hex\" takes 0-9 and a-f only: %s", line(o))
		}
		return string(data), nil
	}
	if o != nil && len(o.names) == 2 && o.has("repeat") {
		unit, isText := o.get("repeat").(string)
		times, isNumber := number(o.get("times"))
		if !isText || !isNumber || times < 0 || times > 1000000 {
			return "", errors.New("\"repeat\" takes a string, \"times\" a number of 0 to 1,000,000")
		}
		return strings.Repeat(unit, int(times)), nil
	}
	return "", fmt.Errorf("bytes are \"text\", {\"hex\": …} or {\"repeat\": …, \"times\": …}, not %s", line(node))
}

// bytesShown is printable ASCII as a string, all else as {"hex": …}: equal bytes give equal JSON.
func bytesShown(data string) interface{} {
	for i := 0; i < len(data); i++ {
		if data[i] < 0x20 || data[i] >= 0x7f {
			return newObject().set("hex", hex.EncodeToString([]byte(data)))
		}
	}
	return data
}

func whole(n int64) json.Number { return json.Number(fmt.Sprint(n)) }

// wholeU writes a number as the runner for C does: in 64 bits with a sign.
func wholeU(n uint64) json.Number { return whole(int64(n)) }

// wordIn says whether word is one of the words of list, which are separated by single spaces.
func wordIn(list, word string) bool {
	for _, other := range strings.Fields(list) {
		if other == word {
			return true
		}
	}
	return false
}
