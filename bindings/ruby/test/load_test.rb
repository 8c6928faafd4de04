# SPDX-License-Identifier: MIT
#
# What somebody meets who has not installed the library, and who builds the gem.
require_relative "helper"
require "open3"
require "rbconfig"
require "rubygems/package"
require "tmpdir"

class LoadTest < Minitest::Test
  FOLDER = File.expand_path("..", __dir__)

  def test_a_missing_library_says_what_was_looked_for_and_what_to_do
    out, status = Open3.capture2e({ "LIBLOCK_LIBRARY" => "/nowhere/liblock.so.0" }, RbConfig.ruby, "-I#{FOLDER}/lib",
                                  "-rliblock", "-e", "1")
    refute status.success?
    assert_includes out, "/nowhere/liblock.so.0"
    assert_includes out, "Install liblock, or name the file in LIBLOCK_LIBRARY"
  end

  def test_the_first_program_of_the_readme_runs
    program = File.read("#{FOLDER}/README.md")[/<<'END'\n(.*?)^    END$/m, 1]
    out, status = Open3.capture2e(RbConfig.ruby, "-W", "-I#{FOLDER}/lib", "-e", program)
    assert status.success?, out
    assert_match(/\Aalone with invoice 17, token \d+\n#<Liblock::Lock "invoice:17" ok>\n\z/, out)
  end

  def test_the_gem_builds_and_has_every_file_of_the_library
    Dir.mktmpdir do |folder|
      built = File.join(folder, "liblock.gem")
      out, status = Open3.capture2e("gem", "build", "--norc", "-o", built, "liblock.gemspec", chdir: FOLDER)
      assert status.success?, out
      listed = Gem::Package.new(built).spec.files
      assert_equal Dir.chdir(FOLDER) { Dir["lib/**/*.rb"] }.sort, listed.grep(/\Alib/).sort
    end
  end

  def test_a_process_that_forgets_to_close_ends
    script = 'c = Liblock.open; c.on_event { }; c.log_to(Logger.new(File::NULL), level: :debug); ' \
             'c.lock("a", owner: :thread, on_lost: true); puts "over"'
    out, status = Open3.capture2e(RbConfig.ruby, "-I#{FOLDER}/lib", "-rlogger", "-rliblock", "-e", script)
    assert_equal "over\n", out
    assert status.success?
  end

  Dir[File.join(FOLDER, "samples", "*.rb")].each do |sample|
    name = File.basename(sample, ".rb")
    define_method("test_the_sample_#{name}_runs_and_says_what_happens") do
      out, status = Open3.capture2e(RbConfig.ruby, "-w", "-I#{FOLDER}/lib", sample)
      assert status.success?, out
      refute_empty out
      refute_match(/warning|Error/, out)
    end
  end
end
