// SPDX-License-Identifier: MIT
// The statuses as a C++ type. The list itself stands once, in the public header, which every layer may
// include for its plain constants and structs; nothing else of the C API is visible to the core.
#pragma once

#include <liblock/liblock.h>

namespace liblock {

enum class [[nodiscard]] Status : liblock_status{
#define LIBLOCK_STATUS_MEMBER(name, number, predicates, text) name = number,
    LIBLOCK_STATUS_MAP(LIBLOCK_STATUS_MEMBER)
#undef LIBLOCK_STATUS_MEMBER
};

const char *status_name(liblock_status status);
const char *status_text(liblock_status status);
int32_t status_predicates(liblock_status status);

}  // namespace liblock
