# SPDX-License-Identifier: MIT
#
# What every file of the runner stands on: why a scenario failed, JSON that repeats no field, bytes as scenarios write
# them.
require "json"

module Conformance
  # Why a scenario failed.
  class Fault < StandardError; end

  # A JSON object that refuses a field which it has already: one of the two would be ignored.
  class Fields < Hash
    def []=(name, value)
      raise Fault, "duplicate object key \"#{name}\"" if key?(name)

      super
    end
  end

  module_function

  def blame(text)
    raise Fault, text
  end

  # One line of JSON for diagnostics.
  def line(node)
    JSON.generate(written(node))[0, 900]
  end

  # Printable ASCII as a string, all else as {"hex": …}.
  def written(node)
    case node
    when Hash then node.to_h { |name, value| [written_name(name), written(value)] }
    when Array then node.map { |value| written(value) }
    when String then node.b.match?(/\A[\x20-\x7e]*\z/n) ? node : { "hex" => node.unpack1("H*") }
    else node
    end
  end

  def written_name(name)
    name.dup.force_encoding(Encoding::UTF_8).valid_encoding? ? name : name.unpack1("H*")
  end

  # "text", {"hex": "00ff"} or {"repeat": "k", "times": 512}, as binary text.
  def bytes(node)
    return node.b if node.is_a?(String)
    return hex(node["hex"]) if node.is_a?(Hash) && node.size == 1 && node["hex"].is_a?(String)
    return repeated(node) if node.is_a?(Hash) && node.size == 2 && node.key?("repeat")

    blame("bytes are \"text\", {\"hex\": …} or {\"repeat\": …, \"times\": …}, not #{line(node)}")
  end

  def hex(digits)
    blame("\"hex\" needs an even number of digits: #{digits}") if digits.size.odd?
    blame("\"hex\" takes 0-9 and a-f only: #{digits}") unless digits.match?(/\A[0-9a-f]*\z/)
    [digits].pack("H*")
  end

  def repeated(node)
    unit, times = node["repeat"], node["times"]
    return (unit * times).b if unit.is_a?(String) && times.is_a?(Integer) && times.between?(0, 1_000_000)

    blame("\"repeat\" takes a string, \"times\" a number of 0 to 1,000,000")
  end

  # Milliseconds: a number, "AUTO" or "NONE".
  def ttl(node)
    return node if node.is_a?(Integer)

    { "AUTO" => -1, "NONE" => -2 }[node] || blame("a ttl is a number, \"AUTO\" or \"NONE\"")
  end
end
