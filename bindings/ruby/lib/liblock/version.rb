# SPDX-License-Identifier: MIT
#
# The version of the gem; it follows the library's.
module Liblock
  # Of this gem; {version} is the loaded library's.
  VERSION = "0.1.0"
end
