# SPDX-License-Identifier: MIT
#
# A lease can end while its holder does not notice. What he writes to refuses him by his token.
#   ruby fencing.rb [URL]
require "liblock"

# A store that takes no write with a smaller token than it has seen.
class Store
  def initialize
    @token = 0
  end

  def write(token, text)
    return puts("refused: #{text.inspect} with token #{token}, seen #{@token}") if token < @token

    @token = token
    puts "written: #{text.inspect} with token #{token}"
  end
end

store = Store.new
Liblock.open(ARGV[0] || "local:") do |locks|
  late = locks.lock!("sample:fencing", ttl: 0.1)
  token = late.token
  puts "the first holder stops for too long …"
  late.wait_lost
  locks.synchronize("sample:fencing", ttl: 10) { |lock| store.write(lock.token, "by the second") }
  store.write(token, "by the first, too late")
end
