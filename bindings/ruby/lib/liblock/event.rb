# SPDX-License-Identifier: MIT
#
# Events and log entries as plain values, copied before their callback returns.
module Liblock
  # What docs/events.md tells of each kind. Times of day are Time; `*_us` are microseconds, nil = not known.
  Event = Struct.new(:kind, :status, :lock, :token, :message, :tag, :at, :obtained_at, :key, :keys, :owner, :instance,
                     :ttl_ms, :acquire_us, :hold_us, :elapsed_us, :count, :queue_position, :queue_length, :attempts,
                     :hold_count, :node, keyword_init: true) do
    # @api private
    def self.read(pointer)
      event = Native::Event.new(pointer)
      text = ->(bytes) { bytes[:data].null? ? nil : Numbers.text(bytes[:data].get_bytes(0, bytes[:size])) }
      plain = %i[lock token tag ttl_ms count attempts hold_count].to_h { |name| [name, event[name]] }
      known = %i[acquire_us hold_us elapsed_us queue_position queue_length].to_h do |name|
        [name, event[name].negative? ? nil : event[name]]
      end
      new(kind: Numbers::EVENT_NAMES.fetch(event[:kind], :unknown), at: Numbers.time(event[:at_us]),
          status: Numbers::STATUS_NAMES.fetch(event[:status], :unknown),
          obtained_at: Numbers.time(event[:obtained_at_us]),
          message: event[:message].null? ? "" : Numbers.text(event[:message].read_string), key: text[event[:key]],
          keys: read_keys(event, text), owner: text[event[:owner]], instance: text[event[:instance]],
          node: text[event[:node]], **plain, **known)
    end

    # @api private
    def self.read_keys(event, text)
      return [] if event[:keys].null?

      event[:key_count].times.map { |index| text[Native::Bytes.new(event[:keys] + index * Native::Bytes.size)] }
    end
  end

  # One entry of the log.
  LogEntry = Struct.new(:name, :level, :at, :message, :tag, :fields, keyword_init: true) do
    # @api private
    def self.read_text(bytes)
      Numbers.text(bytes[:size].zero? ? "" : bytes[:data].get_bytes(0, bytes[:size]))
    end

    # @api private
    def self.read(pointer)
      entry = Native::LogEntry.new(pointer)
      fields = entry[:field_count].times.to_h do |index|
        field = Native::LogField.new(entry[:fields] + index * Native::LogField.size)
        [field[:name].read_string.to_sym, field[:type] == 1 ? field[:number] : read_text(field[:text])]
      end
      new(name: entry[:name].read_string.to_sym, level: Numbers::LOG_LEVELS.invert.fetch(entry[:level], :unknown),
          at: Numbers.time(entry[:at_us]), message: Numbers.text(entry[:message].read_string), tag: entry[:tag],
          fields: fields)
    end

    # @return [String] the entry as one line
    def to_s
      "#{name} #{message}#{fields.map { |field, value| " #{field}=#{value.inspect}" }.join}"
    end
  end
end
