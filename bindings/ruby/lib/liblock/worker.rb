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
  end
end
