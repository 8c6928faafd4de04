#!/usr/bin/env ruby
# SPDX-License-Identifier: MIT
#
# The conformance runner for Ruby: reads scenarios, runs those that hold for the backend of --url, prints TAP.
#
#   runner.rb [--url URL] [--filter TEXT] [--list] [--selftest] [--census "total=60 order=20"] FILE…
#
# Ends with 0 when all passed, 1 when one failed, 2 when it could not run. A run of no scenario at all is a failure.
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "liblock"
require_relative "suite"

module Conformance
  class Runner
    USAGE = "usage: runner.rb [--url URL] [--filter TEXT] [--list] [--selftest] [--census CLAIMS] FILE..."

    # Where this runner's causes are worded otherwise than those of the runner for C: its words to ours.
    CAUSES = {}.freeze

    def initialize(words)
      @url, @filter, @census = "local:", "", nil
      words = words.dup
      while words.first&.start_with?("--")
        case words.shift
        when "--list" then @list = true
        when "--selftest" then @selftest = true
        when "--url" then @url = taken(words)
        when "--filter" then @filter = taken(words)
        when "--census" then @census = taken(words)
        else refuse
        end
      end
      refuse if words.empty?
      @suite = Suite.new(words, @selftest)
      @kind = @url.start_with?("local:") ? "local" : @url.start_with?("quorum:") ? "quorum" : "redis"
    end

    def run
      return census if @census

      chosen = @suite.scenarios.select { |scenario| scenario.name.include?(@filter) }
      here, elsewhere = chosen.partition { |scenario| scenario.holds?(@kind) }
      return list(here) if @list

      failed = here.each_with_index.count { |scenario, index| !run_one(scenario, index + 1) }
      puts "1..#{here.size}"
      puts "# #{here.size - failed} passed, #{failed} failed, on #{@kind}; " \
           "#{elsewhere.size} hold on other contexts only"
      failed.positive? || here.empty? ? 1 : 0
    end

    private

    def taken(words)
      words.empty? ? refuse : words.shift
    end

    def refuse
      warn USAGE
      exit!(2)
    end

    def list(scenarios)
      scenarios.each { |scenario| puts "#{scenario.name} (#{scenario.file})" }
      0
    end

    def run_one(scenario, number)
      outcome = scenario.run(@url, number)
      causes = @selftest ? not_bitten(scenario, outcome) : outcome.fault && cause(scenario, outcome)
      puts "#{causes ? "not ok" : "ok"} #{number} - #{scenario.name}"
      puts causes if causes
      $stdout.flush
      !causes
    end

    def cause(scenario, outcome)
      at = "step #{outcome.step} of #{scenario.steps.size}: #{outcome.doing}"
      at = "before the first step" if outcome.step.zero?
      "# #{scenario.file}: #{at}\n# #{outcome.fault.message.gsub("\n", "\n# ")}"
    end

    # A self-test scenario passes when it fails at the step and for the reason that it names.
    def not_bitten(scenario, outcome)
      step, because = scenario.must_fail&.values_at("step", "because")
      return "# must_fail needs a step and a because" unless step.is_a?(Integer) && because.is_a?(String)
      return "# passed, but must fail: #{because}" unless outcome.fault

      words = CAUSES.fetch(because, because)
      return nil if step == outcome.step && outcome.fault.message.include?(words)

      "# must fail at step #{step} because of \"#{words}\", but:\n#{cause(scenario, outcome)}"
    end

    def census
      claims = @census.split.map { |claim| claim.match(/\A([a-z]+)=(\d+)\z/) }
      counted = claims.take_while(&:itself).each_with_index.map do |claim, index|
        claim_met?(claim[1], claim[2].to_i, index + 1)
      end
      puts "1..#{counted.size}"
      puts "# not understood: #{@census}" unless claims.all?
      counted.all? && claims.all? && !counted.empty? ? 0 : 1
    end

    def claim_met?(tag, wanted, number)
      found = @suite.scenarios.count do |scenario|
        !scenario.malformed && scenario.holds?(@kind) && (tag == "total" || scenario.tagged?(tag))
      end
      puts "#{found >= wanted ? "ok" : "not ok"} #{number} - #{tag}: #{found} scenarios of at least #{wanted}"
      found >= wanted
    end
  end
end

exit(Conformance::Runner.new(ARGV).run) if $PROGRAM_NAME == __FILE__
