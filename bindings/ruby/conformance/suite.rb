# SPDX-License-Identifier: MIT
#
# Files of scenarios, and running one of them.
#
# Invariants: one scenario's world is gone before the next begins; one that hangs ends the whole run, naming the step,
# since what it left behind could spoil all later ones.
require_relative "check"
require_relative "audit"

module Conformance
  Outcome = Struct.new(:fault, :step, :doing)

  # Ends the process when a step hangs. A thread: no alarm that Ruby could be told of would come through a native call.
  class Watch
    LIMIT_S = 30

    def initialize
      @mutex, @rung = Thread::Mutex.new, nil
      Thread.new { watch }
    end

    def at(text)
      @mutex.synchronize { @rung = text && [text, clock + LIMIT_S] }
    end

    private

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def watch
      loop do
        sleep 0.5
        text, limit = @mutex.synchronize { @rung }
        next unless text && clock > limit

        $stdout.write("Bail out! #{text}\n")
        $stdout.flush
        exit!(2)
      end
    end
  end

  class Scenario
    attr_reader :file, :name, :must_fail
    attr_accessor :malformed

    def initialize(file, name, node, must_fail)
      @file, @name, @node, @must_fail = file, name, node, must_fail
    end

    def steps
      @node ? @node["steps"].to_a : []
    end

    def holds?(kind)
      malformed || @node["contexts"].include?(kind) ? true : false
    end

    def tagged?(tag)
      @node["tags"].to_a.include?(tag)
    end

    def run(url, number)
      return Outcome.new(malformed, 0) if malformed

      outcome = Outcome.new(nil, 0)
      world = World.new(url, number)
      perform(world, outcome)
      failed = outcome.fault
      watch.at("#{name} hangs at step #{steps.size + 1}")
      outcome.fault = world.finish(failed)
      outcome.step, outcome.doing = steps.size + 1, "(the end)" if outcome.fault && !failed
      outcome
    ensure
      watch.at(nil)
    end

    private

    def watch
      @@watch ||= Watch.new
    end

    def perform(world, outcome)
      open_first(world)
      steps.each_with_index do |step, index|
        outcome.step, outcome.doing = index + 1, Conformance.line(step)
        watch.at("#{name} hangs at step #{index + 1}")
        run_step(world, step, index + 1)
      end
    rescue Fault => fault
      outcome.fault = fault
    end

    # "context": null opens nothing; anything else opens the context "c" as an `open` step would.
    def open_first(world)
      return if @node.key?("context") && @node["context"].nil?

      run_step(world, { "do" => "open", "as" => "c", "options" => @node["context"] }.compact, 0)
    end

    def run_step(world, step, number)
      call = Call.new(world, step, number).prepare
      thread = step["thread"]
      if thread
        return unless world.actors.run(thread, call, step["background"])
      else
        call.perform
      end
      call.settle
    end
  end

  class Suite
    SCHEMA = 1

    attr_reader :scenarios

    def initialize(paths, selftest)
      @scenarios, @selftest = [], selftest
      paths.each { |path| load(path) }
    end

    private

    # A file that cannot be read becomes one malformed scenario, so that it fails loudly.
    def load(path)
      file = File.basename(path)
      root = JSON.parse(File.read(path, encoding: "UTF-8"), object_class: Fields, create_additions: false)
      head(root)
      root["scenarios"].each { |node| add(file, node) }
    rescue Fault, JSON::ParserError, SystemCallError => error
      scenario = Scenario.new(file, file, nil, root.is_a?(Hash) ? root["must_fail"] : nil)
      scenario.malformed = Fault.new(error.message)
      @scenarios << scenario
    end

    def head(root)
      Conformance.blame("a file is an object") unless root.is_a?(Hash)
      root.each_key do |name|
        next if %w[schema about scenarios].include?(name) || (@selftest && name == "must_fail")

        Conformance.blame("unknown field \"#{name}\" of a file")
      end
      Conformance.blame("this runner reads schema #{SCHEMA} only") unless root["schema"] == SCHEMA
      Conformance.blame("\"about\" says what the file is for") unless root["about"].is_a?(String)
      return if root["scenarios"].is_a?(Array) && !root["scenarios"].empty?

      Conformance.blame("the file has no scenarios")
    end

    def add(file, node)
      name = node.is_a?(Hash) && node["name"].is_a?(String) ? node["name"] : "(no name)"
      scenario = Scenario.new(file, name, node, node.is_a?(Hash) ? node["must_fail"] : nil)
      begin
        Check.scenario(node, @selftest)
        taken = @scenarios.find { |other| other.name == name }
        Conformance.blame("the name is taken by #{taken.file}") if taken
      rescue Fault => fault
        scenario.malformed = fault
      end
      @scenarios << scenario
    end
  end
end
