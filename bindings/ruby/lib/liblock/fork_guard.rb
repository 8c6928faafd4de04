# SPDX-License-Identifier: MIT
#
# What a child process must know: everything opened before the fork belongs to its parent. A number that every fork
# raises is compared in each call, which costs nothing; the library itself compares too, for forks that pass Ruby by.
module Liblock
  # @api private
  module ForkGuard
    @generation = 0
    class << self
      # @return [Integer] how many forks lie between the first process and this one
      attr_reader :generation

      def child!
        @generation += 1
      end
    end

    # Every fork of Ruby (Kernel#fork, Process.fork, IO.popen("-")) comes through the first, but for that of daemon,
    # from which only the child returns.
    module Hook
      def _fork
        super.tap { |pid| ForkGuard.child! if pid.zero? }
      end

      def daemon(...)
        before = Process.pid
        super.tap { ForkGuard.child! unless Process.pid == before }
      end
    end
    Process.singleton_class.prepend(Hook)
  end
end
