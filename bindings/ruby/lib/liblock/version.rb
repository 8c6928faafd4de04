# SPDX-License-Identifier: MIT
#
# The version of the gem; it follows the library's.
module Liblock
  VERSION = "0.1.0"
end
