# SPDX-License-Identifier: MIT
#
# All tests: ruby -Ilib -Itest test/all.rb [minitest's options]. Those that need servers run where the environment names
# them: LIBLOCK_TEST_REDIS=redis://…, LIBLOCK_TEST_QUORUM=quorum:…; the others are all. Redis ones need ruby-redis.
require_relative "helper"
Thread.report_on_exception = true
ANYWHERE = %w[header lock owner interruption fork fiber admin load ending callback input leak loss queue wording
              secrets].freeze
ANYWHERE.each { |name| require_relative "#{name}_test" }
ON_A_SERVER = %w[server redis_exp_lock redis_exp_lock_synchronize redis_exp_lock_mixed redis_exp_lock_server rql_lock
                 rql_queue rql_listing rql_release rql_reporting rql_client rql_series rql_manual own_servers
                 secrets_server].freeze
ON_A_SERVER.each { |name| require_relative "#{name}_test" } if ENV["LIBLOCK_TEST_REDIS"]
require_relative "quorum_test" if ENV["LIBLOCK_TEST_QUORUM"]
exit(Minitest.run(ARGV) ? 0 : 1)
