# SPDX-License-Identifier: MIT
#
# Ruby threads of the binding's own. A new thread inherits what its maker keeps from being interrupted by; one that
# inherited everything could not be ended, and the process could not either.
module Liblock
  # @api private
  module Worker
    def self.start(name)
      Thread.new do
        Thread.handle_interrupt(Object => :immediate) do
          Thread.current.name = "liblock #{name}"
          Thread.current.report_on_exception = false
          yield
        end
      end
    end

    # Runs what a user gave: nothing that it raises ends the thread, on which others count. `exit` in it ends the
    # process, as it would in any other thread.
    def self.guard(what)
      yield
    rescue SystemExit => error
      Thread.main.raise(error)
    rescue Exception => error # rubocop:disable Lint/RescueException -- NotImplementedError is no StandardError
      warn("liblock: #{what}: #{error.full_message(highlight: false)}")
    end
  end
end
