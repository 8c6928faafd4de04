# SPDX-License-Identifier: MIT
#
# Options as Ruby writes them, put into C structs. A table says for each word which field it is and how it is written;
# besides, every plain field of the struct can be given by its own name and in its own unit (ttl_ms: 30).
#
# Invariant: a word that is in no table is an ArgumentError, never passed over. What a struct points at lives as long as
# the object that filled it in.
require_relative "native/functions"
require_relative "numbers"

module Liblock
  # @api private
  class Fields
    INTEGERS = [FFI::Type::INT64, FFI::Type::INT32, FFI::Type::UINT64].freeze

    # @return [FFI::Struct]
    attr_reader :struct

    def initialize(struct_class, table)
      @struct = struct_class.prepared
      @table = table
      @kept = []
    end

    # Fills in one option; nil is the same as leaving it out.
    def set(name, value)
      field, kind, names = @table[name]
      return set_raw(name, value) unless field
      return if value.nil?

      case kind
      when :seconds then @struct[field] = Numbers.milliseconds(value)
      when :wait then @struct[field] = Numbers.wait_ms(value)
      when :ttl then @struct[field] = Numbers.ttl_ms(value)
      when :number then @struct[field] = number(name, value)
      when :truth then @struct[field] = truth(value)
      when :named then @struct[field] = named(name, value, names)
      when :flags then @struct[field] = Array(value).sum { |word| named(name, word, names) }
      when :votes then @struct[field] = value == :all ? Numbers::VOTES_ALL : number(name, value)
      when :bytes then set_bytes(field, names, value)
      when :text then @struct[field] = keep_text(value)
      when :texts then set_texts(field, names, value)
      when :metadata then set_metadata(value)
      end
    end

    # Memory that lives as long as this object.
    def keep(memory)
      @kept << memory
      memory
    end

    private

    def set_raw(name, value)
      member = @struct.members.include?(name) && @struct.layout[name]
      raise ArgumentError, "unknown option: #{name.inspect}" unless member && INTEGERS.include?(member.type)
      return if value.nil?

      @struct[name] = number(name, value)
    end

    def number(name, value)
      return value if value.is_a?(Integer)

      raise ArgumentError, "#{name} takes a whole number, not #{value.inspect}"
    end

    def truth(value)
      value.is_a?(Integer) ? value : (value ? 1 : 0)
    end

    def named(name, value, names)
      return value if value.is_a?(Integer)

      names.fetch(value) { raise ArgumentError, "#{name} is one of #{names.keys.inspect}, not #{value.inspect}" }
    end

    def keep_text(value)
      raise ArgumentError, "a text has no zero byte" if String(value).include?("\0")

      keep(FFI::MemoryPointer.from_string(String(value)))
    end

    def keep_bytes(value)
      bytes = String(value)
      memory = keep(FFI::MemoryPointer.new(:char, [bytes.bytesize, 1].max))
      memory.put_bytes(0, bytes)
      [memory, bytes.bytesize]
    end

    def set_bytes(field, size_field, value)
      @struct[field], @struct[size_field] = keep_bytes(value)
    end

    def set_texts(field, count_field, values)
      list = keep(FFI::MemoryPointer.new(:pointer, [values.size, 1].max))
      list.put_array_of_pointer(0, values.map { |value| keep_text(value) }) unless values.empty?
      @struct[field] = list
      @struct[count_field] = values.size
    end

    def set_metadata(entries)
      raise ArgumentError, "metadata is a Hash, not #{entries.class}" unless entries.respond_to?(:each_pair)

      list = keep(FFI::MemoryPointer.new(Native::Metadata, [entries.size, 1].max))
      entries.each_pair.with_index do |(name, value), index|
        pair = Native::Metadata.new(list + index * Native::Metadata.size)
        pair[:name][:data], pair[:name][:size] = keep_bytes(name.to_s)
        pair[:value][:data], pair[:value][:size] = keep_bytes(value)
      end
      @struct[:metadata] = list
      @struct[:metadata_count] = entries.size
    end
  end

  # Lists of keys as the C calls take them.
  # @api private
  class KeyList
    attr_reader :pointer, :count

    def initialize(keys)
      @count = keys.size
      @pointer = FFI::MemoryPointer.new(Native::Bytes, [@count, 1].max)
      @kept = keys.each_with_index.map do |key, index|
        memory = FFI::MemoryPointer.new(:char, [key.bytesize, 1].max).put_bytes(0, key)
        bytes = Native::Bytes.new(@pointer + index * Native::Bytes.size)
        bytes[:data], bytes[:size] = memory, key.bytesize
        memory
      end
    end
  end
end
