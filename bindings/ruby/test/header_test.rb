# SPDX-License-Identifier: MIT
#
# The binding against the header and the published layout: nothing missing, nothing of another shape.
require_relative "helper"

class HeaderTest < Minitest::Test
  ROOT = File.expand_path("../../..", __dir__)
  HEADER = File.read(File.join(ROOT, "capi/include/liblock/liblock.h")).gsub(%r{/\*.*?\*/}m, "")
  FUNCTIONS = HEADER.scan(/LIBLOCK_API[\w\s*]+?\b(liblock_\w+)\s*\(([^;]*?)\)\s*;/).to_h
  ATTACHED = Liblock::Native::QUICK.merge(Liblock::Native::WAITING)

  def test_every_function_of_the_header_is_attached_and_no_other
    assert_operator FUNCTIONS.size, :>, 100
    assert_equal FUNCTIONS.keys.map { |name| name.delete_prefix("liblock_") }.sort, ATTACHED.keys.map(&:to_s).sort
    ATTACHED.each_key do |name|
      assert_respond_to Liblock::Native, Liblock::Native::RENAMED.fetch(name, name)
    end
  end

  WIDTHS = { "size_t" => :size_t, "int64_t" => :int64, "uint64_t" => :uint64, "int32_t" => :int32,
             "uint32_t" => :uint32, "liblock_status" => :int32, "liblock_lock" => :uint64,
             "liblock_request" => :uint64 }.freeze

  def test_every_parameter_is_as_wide_as_the_header_says
    FUNCTIONS.each do |name, parameters|
      wanted = parameters.gsub(/\s+/, " ").split(",").map(&:strip).reject { |one| one == "void" }.map do |one|
        one.include?("*") || one.include?("_callback ") ? :pointer : WIDTHS.fetch(one.split.first)
      end
      takes = ATTACHED.fetch(name.delete_prefix("liblock_").to_sym).first
      assert_equal wanted, takes.map { |type| type == :string ? :pointer : type }, name
    end
  end

  def test_every_struct_has_the_published_layout
    layout = File.read(File.join(ROOT, "tests/abi/layout.def"))
    sizes = layout.scan(/SIZE\(liblock_(\w+), (\d+)\)/)
    assert_operator sizes.size, :>, 15
    sizes.each { |name, size| assert_equal size.to_i, struct(name).size, name }
    layouts = {}
    layout.scan(/FIELD\(liblock_(\w+), (\w+), (\d+), (\d+)\)/).each do |name, field, offset, width|
      member = (layouts[name] ||= struct(name).new.layout)[field.to_sym]
      assert member, "#{name}.#{field} is missing"
      assert_equal [offset.to_i, width.to_i], [member.offset, member.size], "#{name}.#{field}"
    end
  end

  def test_every_status_has_its_number_and_a_class_of_its_own
    numbers = HEADER.scan(/X\((\w+), (\d+), /).to_h { |name, number| [name.downcase.to_sym, number.to_i] }
    assert_equal numbers, Liblock::STATUSES
    Liblock::STATUSES.each { |name, number| assert_equal name.to_s.upcase, Liblock::Native.status_name(number) }
    classes = Liblock::STATUSES.keys.drop(1).map { |name| Liblock::Error::BY_STATUS.fetch(name) }
    assert_equal classes.size, classes.uniq.size
    assert(classes.all? { |one| one < Liblock::Error })
  end

  def test_every_kind_of_event_has_its_number
    numbers = HEADER.scan(/LIBLOCK_EVENT_(\w+) = (\d+)/).to_h { |name, number| [name.downcase.to_sym, number.to_i] }
    assert_equal numbers, Liblock::Numbers::EVENTS
    numbers.each_key { |name| assert_equal name.to_s.upcase, Liblock.event_name(name) }
  end

  def test_the_library_is_of_the_version_that_the_gem_is_for
    assert_equal Liblock::VERSION, Liblock.library_version
    assert_equal 1_000, Liblock.library_version_number
  end

  # What users reach: each attached function is named somewhere in the binding besides its declaration.
  def test_every_function_is_used_by_the_binding
    sources = Dir[File.expand_path("../lib/**/*.rb", __dir__)].reject { |path| path.include?("/native/functions") }
    text = sources.map { |path| File.read(path) }.join
    unused = ATTACHED.keys.reject do |name|
      attached = Liblock::Native::RENAMED.fetch(name, name)
      text.match?(/(Native\.|[:\[]|listed\(:)#{attached}\b|#{attached}_briefly/) || name.end_with?("_init")
    end
    assert_equal BLOCKING, unused
  end

  # A blocking wait is its asynchronous twin's, with the descriptor of its end waited for by Ruby.
  BLOCKING = [:wait_lost, :wait_held, :wait_released, :wait_held_on].freeze

  private

  def struct(name)
    Liblock::Native.const_get(name.split("_").map(&:capitalize).join)
  end
end
