# SPDX-License-Identifier: MIT
#
# Finds the shared object. One that is missing is the first thing that goes wrong for anybody, so the error says what
# was looked for and what to do.
require "ffi"

module Liblock
  # The shared object could not be loaded.
  class LoadError < ::LoadError; end

  # @api private
  module Native
    # @api private
    module Library
      # The soname: another ABI version has another name, so a library that does not fit is not found.
      SONAME = "liblock.so.0"

      module_function

      # @return [Array<String>] what to load: LIBLOCK_LIBRARY alone where it is set
      def names
        given = ENV["LIBLOCK_LIBRARY"]
        given && !given.empty? ? [given] : [SONAME, "/usr/local/lib/#{SONAME}"]
      end

      def open
        FFI::DynamicLibrary.open(found = names.first, FFI::DynamicLibrary::RTLD_LAZY | FFI::DynamicLibrary::RTLD_LOCAL)
        [found]
      rescue ::LoadError => first
        others = names.drop(1).select { |name| File.exist?(name) }
        return others unless others.empty?

        raise LoadError, "#{first.message}\n" \
                         "liblock's shared object was not found (looked for: #{names.join(", ")}). " \
                         "Install liblock, or name the file in LIBLOCK_LIBRARY=/path/to/#{SONAME}; a folder that " \
                         "the loader does not know goes into LD_LIBRARY_PATH, or into /etc/ld.so.conf.d with ldconfig."
      end
    end
  end
end
