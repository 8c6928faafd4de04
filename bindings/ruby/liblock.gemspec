# SPDX-License-Identifier: MIT
#
# The gem: Ruby files only; the shared object is installed by itself.
require_relative "lib/liblock/version"

Gem::Specification.new do |gem|
  gem.name = "liblock"
  gem.version = Liblock::VERSION
  gem.summary = "Keyed locks: within a process, on a Redis server, over a quorum of servers"
  gem.description = "Leases, fencing tokens, fair queues, owners with reentry and deadlock detection, several keys as " \
                    "one lock: the C library liblock, for threads, fibers and forking servers."
  gem.authors = ["The liblock authors"]
  gem.homepage = "https://liblock.dev"
  gem.license = "MIT"
  gem.required_ruby_version = ">= 3.1"
  gem.files = Dir["lib/**/*.rb", "samples/*.rb", "README.md", ".yardopts"]
  gem.add_runtime_dependency "ffi", "~> 1.15"
  gem.metadata["rubygems_mfa_required"] = "true"
end
