# SPDX-License-Identifier: MIT
#
# Messages in the words of Ruby: the library names its options, functions and constants as liblock.h does. A word is
# exchanged where it stands alone and is in the table, which those of the options and functions make. Numbers stay
# milliseconds, and say so.
require_relative "options"

module Liblock
  # @api private
  module Wording
    METHODS = { inspect: "inspect_key", list_each: "locks", quorum_set_nodes: "set_nodes" }.freeze
    CONSTANTS = { "LIBLOCK_TTL_AUTO" => ":auto", "LIBLOCK_TTL_NONE" => ":none", "LIBLOCK_VOTES_ALL" => ":all",
                  "LIBLOCK_QUORUM_INIT_FORCE" => "force: true",
                  "metadata_count" => "the number of entries of metadata" }.freeze
    # These are of several words, or of none.
    PHRASES = { ", or LIBLOCK_DEFAULT" => "", " to INT64_MAX" => " or more", "; leave it NULL" => "; leave it out",
                "the _async call" => "submit", "-1 for off" => ":forever for off",
                "-1 for never" => ":forever for never", "-1 for none" => ":forever for none" }.freeze
    PHRASE = Regexp.union(PHRASES.keys)

    tables = [Options::ACQUIRE, Options::CONTEXT, Options::CLEAR].reduce(:merge)
    TIMES = tables.to_h { |name, (field, _)| [field.name, name.name] }
                  .select { |field, _| field.end_with?("_ms") }.freeze
    SIZES = tables.to_h { |name, (_, kind, size)| [size, "the #{kind == :bytes ? "size" : "number"} of #{name}"] }
                  .select { |size, _| size.is_a?(Symbol) }.transform_keys(&:name).freeze
    FUNCTIONS = [Native::QUICK, Native::WAITING].flat_map(&:keys)
                                                .to_h { |name| ["liblock_#{name}", METHODS[name] || name.name] }.freeze
    WORDS = { **TIMES, **SIZES, **FUNCTIONS, **CONSTANTS }.freeze
    # Not within a url, or the name of an owner, a host or a key.
    ALONE = %r{(?<![\w/@.:-])[A-Za-z]\w*_\w+(?![\w/@-])}
    OF_TIME = /(?<option>#{ALONE})(?<says>\sis\s|\smust\sbe\s|\sof\s|,\s|\s\()(?<number>-?\d+)
               (?:;\suse\s(?<least>\d+)(?<to>\sto\s\d+)?)?/x
    private_constant :METHODS, :CONSTANTS, :PHRASES, :PHRASE, :TIMES, :SIZES, :FUNCTIONS, :WORDS, :ALONE, :OF_TIME

    def self.reworded(text)
      text = text.gsub(OF_TIME) { TIMES.key?($~[:option]) ? with_unit($~) : $& }
      text.gsub(PHRASE, PHRASES).gsub(ALONE) { |word| WORDS.fetch(word, word) }.freeze
    end

    def self.with_unit(said)
      use = "; use #{said[:least]}#{said[:to] || " ms"}" if said[:least]
      "#{said[:option]}#{said[:says]}#{said[:number]} ms#{use}#{" ms" if said[:to]}"
    end
    private_class_method :with_unit
  end
end
