# SPDX-License-Identifier: MIT
#
# The end of the process: Ruby runs what at_exit was given while all threads are alive, and ends the threads afterwards,
# in any order. Who waits for another thread in an ensure clause must know.
module Liblock
  # @api private
  module Ending
    @begun = false
    at_exit { @begun = true }

    # May threads be ended by now?
    def self.begun?
      @begun
    end
  end
end
