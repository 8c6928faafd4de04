#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_dependencies.py finds each forbidden direction, and lets the permitted ones pass."""
from bites import Tap, on_tree


def main():
    tap = Tap()
    folders = ("base", "runtime", "lease", "engine", "local", "remote", "redis", "quorum", "context")
    base = {f"core/{folder}/a.hpp": "int a;\n" for folder in folders}
    base["core/base/b.hpp"] = '#include <atomic>\n#include <liblock/liblock.h>\n#include "base/a.hpp"\n'
    base["core/runtime/b.cpp"] = '#include <uv.h>\n#include "runtime/a.hpp"\n#include "base/a.hpp"\n'
    base["core/remote/b.cpp"] = '#include "engine/a.hpp"\n#include "lease/a.hpp"\n'
    base["core/redis/b.cpp"] = '#include <openssl/ssl.h>\n#include "engine/a.hpp"\n#include "remote/a.hpp"\n'
    base["core/quorum/b.cpp"] = '#include "redis/a.hpp"\n#include "remote/a.hpp"\n#include "engine/a.hpp"\n'
    base["core/context/b.cpp"] = '#include "local/a.hpp"\n#include "quorum/a.hpp"\n'
    base["capi/lock.cpp"] = '#include "context/a.hpp"\n#include "boundary.hpp"\n'
    base["capi/include/liblock/liblock.h"] = '#include <stddef.h>\n#include "version.h"\n'
    base["capi/include/liblock/liblock.hpp"] = '#include <string>\n#include "liblock.h"\n'
    base["tests/unit/base/test_a.cpp"] = '#include "base/a.hpp"\n'
    base["tests/api/test_a.c"] = '#include <liblock/liblock.h>\n#include "support/api.h"\n'
    core, outside, public = "core_point_one_way", "public_header_alone", "plain_c"
    on_tree(tap, "check_dependencies.py", base, [
        ("base_must_not_include_runtime", {"core/base/c.hpp": '#include "runtime/a.hpp"\n'}, core),
        ("lease_must_not_include_engine", {"core/lease/c.hpp": '#  include "engine/a.hpp"\n'}, core),
        ("engine_must_not_include_local", {"core/engine/c.cpp": '#include "local/a.hpp"\n'}, core),
        ("local_must_not_include_redis", {"core/local/c.cpp": '#include "redis/a.hpp"\n'}, core),
        ("engine_must_not_include_remote", {"core/engine/d.cpp": '#include "remote/a.hpp"\n'}, core),
        ("local_must_not_include_remote", {"core/local/d.cpp": '#include "remote/a.hpp"\n'}, core),
        ("remote_must_not_include_redis", {"core/remote/c.cpp": '#include "redis/a.hpp"\n'}, core),
        ("remote_must_not_include_local", {"core/remote/d.cpp": '#include "local/a.hpp"\n'}, core),
        ("redis_must_not_include_local", {"core/redis/d.cpp": '#include "local/a.hpp"\n'}, core),
        ("redis_must_not_include_quorum", {"core/redis/c.cpp": '#include "quorum/a.hpp"\n'}, core),
        ("quorum_must_not_include_local", {"core/quorum/c.cpp": '#include "local/a.hpp"\n'}, core),
        ("quorum_must_not_include_context", {"core/quorum/c.cpp": '#include "context/a.hpp"\n'}, core),
        ("core_must_not_include_capi", {"core/context/c.cpp": '#include "capi/boundary.hpp"\n'}, core),
        ("core_must_not_include_private_headers_of_capi",
         {"core/context/c.cpp": "#include <liblock/private.h>\n"}, core),
        ("local_must_not_know_libuv", {"core/local/c.cpp": "#include <uv.h>\n"}, core),
        ("remote_must_not_know_libuv", {"core/remote/e.cpp": "#include <uv.h>\n"}, core),
        ("quorum_must_not_know_openssl", {"core/quorum/c.cpp": "#include <openssl/ssl.h>\n"}, core),
        ("an_unqualified_include_is_found", {"core/local/c.cpp": '#include "a.hpp"\n'}, core),
        ("an_include_of_nothing_is_found", {"core/local/c.cpp": '#include "base/none.hpp"\n'}, core),
        ("a_new_folder_without_a_place_is_found", {"core/misc/c.cpp": "int a;\n"}, core),
        ("an_api_test_that_looks_inside_is_found", {"tests/api/test_b.c": '#include "base/a.hpp"\n'}, outside),
        ("an_example_that_looks_inside_is_found", {"examples/b.c": '#include "../capi/boundary.hpp"\n'}, outside),
        ("a_public_header_that_drags_uv_in_is_found",
         {"capi/include/liblock/liblock.h": "#include <uv.h>\n"}, public),
        ("a_public_header_that_drags_cpp_in_is_found",
         {"capi/include/liblock/liblock.h": "#include <string>\n"}, public),
        ("a_wrapper_that_drags_uv_in_is_found",
         {"capi/include/liblock/liblock.hpp": "#include <uv.h>\n"}, public),
        ("a_core_that_is_written_on_the_wrapper_is_found",
         {"core/context/c.cpp": "#include <liblock/liblock.hpp>\n"}, core),
    ])
    tap.finish()


if __name__ == "__main__":
    main()
