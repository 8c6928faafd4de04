# SPDX-License-Identifier: MIT
#
# All tests: ruby -Ilib -Itest test/all.rb [minitest's options]. Those that need servers run where the environment names
# them: LIBLOCK_TEST_REDIS=redis://…, LIBLOCK_TEST_QUORUM=quorum:…; the others are all.
require_relative "helper"
Thread.report_on_exception = true
%w[header lock owner interruption fork fiber admin load].each { |name| require_relative "#{name}_test" }
require_relative "server_test" if ENV["LIBLOCK_TEST_REDIS"]
RQL = %w[lock queue listing release reporting client series].freeze
RQL.each { |name| require_relative "rql_#{name}_test" } if ENV["LIBLOCK_TEST_REDIS"]
require_relative "quorum_test" if ENV["LIBLOCK_TEST_QUORUM"]
exit(Minitest.run(ARGV) ? 0 : 1)
