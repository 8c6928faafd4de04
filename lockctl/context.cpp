// SPDX-License-Identifier: MIT
// Opening a context as the settings say, and reading what infos tell.
#include "context.hpp"

#include "credentials.hpp"
#include "exit_code.hpp"
#include "text.hpp"
#include "wording.hpp"

namespace lockctl {
namespace {

const char *or_null(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

template <typename Getter>
std::string text_of(Getter getter) {
  size_t size = 0;
  const void *data = getter(&size);
  return std::string(bytes(data, size));
}

Value known_us(int64_t microseconds) {
  return microseconds > 0 ? Value(microseconds) : Value(std::monostate());
}

const char *order_name(int32_t order) {
  switch (order) {
    case LIBLOCK_ORDER_LIFO:
      return "lifo";
    case LIBLOCK_ORDER_PRIORITY:
      return "priority";
    case LIBLOCK_ORDER_ANY:
      return "any";
    default:
      return "fifo";
  }
}

}  // namespace

bool is_quorum(const Settings &settings) { return settings.url.starts_with("quorum:"); }

Context open_context(const Settings &settings, bool local_is_allowed, std::string *notice) {
  if (settings.url.starts_with("local:") && !local_is_allowed) {
    throw Failure(kUnsuitable,
                  "a local context ends with this process, so there is nothing to see or to exclude; "
                  "name a server: --url redis://HOST" +
                      of_environment(settings));
  }
  liblock_context_options options;
  liblock_context_options_init(&options, sizeof options);
  if (!settings.url.starts_with("local:")) options.client_name = "lockctl";
  options.username = or_null(settings.user);
  options.password = or_null(settings.password);
  options.tls_ca_file = or_null(settings.ca_file);
  options.tls_certificate_file = or_null(settings.certificate_file);
  options.tls_key_file = or_null(settings.key_file);
  options.tls_insecure = settings.insecure ? 1 : 0;
  options.connect_timeout_ms = settings.timeout_ms;
  options.command_timeout_ms = settings.timeout_ms;
  options.max_ttl_ms = settings.max_ttl_ms;
  options.votes = settings.votes;
  if (settings.has_prefix) {
    options.prefix = settings.prefix.data();
    options.prefix_size = settings.prefix.size();
  }
  liblock_context *context = nullptr;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status = liblock_open(settings.url.c_str(), &options, &context, &result);
  const ExitCode code = exit_code_of(status);
  if (code == kUsage || code == kUnsuitable)
    throw Failure(code, refusal_of_url(settings, message_of(status, result)), status);
  expect(status, result);
  Context opened(context);
  if (notice != nullptr) *notice = why_none_is_granted(context, message_in(result));
  return opened;
}

std::string why_none_is_granted(liblock_context *context, const std::string &notice) {
  liblock_quorum_state state;
  liblock_quorum_state_init(&state, sizeof state);
  liblock_result result = LIBLOCK_RESULT_INIT;
  const bool is_one = liblock_quorum_status(context, &state, nullptr, nullptr, &result) == LIBLOCK_OK;
  if (!is_one || can_grant(state)) return "";
  return notice.empty() ? message_in(result) : notice;
}

void say_what_may_be_missing(liblock_context *context, const std::string &notice) {
  const std::string why = notice.empty() ? why_none_is_granted(context, "") : notice;
  if (!why.empty()) say("there may be locks that are not shown: " + why);
}

std::string message_of(liblock_status status, const liblock_result &result) {
  return result.message[0] != '\0' ? message_in(result) : reworded(liblock_status_text(status));
}

liblock_status expect(liblock_status status, const liblock_result &result, liblock_status also) {
  if (status == LIBLOCK_OK || status == also) return status;
  throw Failure(exit_code_of(status), message_of(status, result), status);
}

Info inspect(liblock_context *context, const std::string &key, bool with_queue) {
  liblock_info *info = nullptr;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const auto call = with_queue ? liblock_inspect_queue : liblock_inspect;
  expect(call(context, key.data(), key.size(), &info, &result), result, LIBLOCK_NOT_HELD);
  return Info(info);
}

std::string key_of(const liblock_info *info) {
  return text_of([&](size_t *size) { return liblock_info_key(info, size); });
}

std::string holder_of(const liblock_info *info) {
  const std::string owner = text_of([&](size_t *size) { return liblock_info_owner(info, size); });
  return owner.empty() ? text_of([&](size_t *size) { return liblock_info_instance(info, size); }) : owner;
}

bool is_foreign(const liblock_info *info) {
  return liblock_info_is_held(info) == 1 && holder_of(info).empty();
}

Record record_of(const liblock_info *info) {
  Record record;
  record.set("key", key_of(info)).set("held", liblock_info_is_held(info) == 1);
  if (liblock_info_is_held(info) == 1) {
    record.set("owner", text_of([&](size_t *size) { return liblock_info_owner(info, size); }))
        .set("instance", text_of([&](size_t *size) { return liblock_info_instance(info, size); }))
        .set("host", text_of([&](size_t *size) { return liblock_info_host(info, size); }))
        .set("foreign", is_foreign(info))
        .set("token", liblock_info_token(info))
        .set("since_us", known_us(liblock_info_since_us(info)))
        .set("initial_ttl_ms", liblock_info_initial_ttl_ms(info))
        .set("remaining_ms", liblock_info_remaining_ms(info))
        .set("zombie", liblock_info_is_zombie(info) == 1)
        .set("value", text_of([&](size_t *size) { return liblock_info_value(info, size); }));
    std::vector<Record> metadata;
    for (size_t n = 0; n < liblock_info_metadata_count(info); n++) {
      liblock_metadata entry;
      if (liblock_info_metadata_at(info, n, &entry) != LIBLOCK_OK) break;
      metadata.push_back(Record()
                             .set("name", std::string(bytes(entry.name.data, entry.name.size)))
                             .set("value", std::string(bytes(entry.value.data, entry.value.size))));
    }
    record.set("metadata", std::move(metadata));
  }
  record.set("waiters", static_cast<uint64_t>(liblock_info_waiter_count(info)));
  return record;
}

std::vector<Record> waiters_of(const liblock_info *info) {
  std::vector<Record> waiters;
  for (size_t n = 0; n < liblock_info_waiter_count(info); n++) {
    const auto owner = text_of([&](size_t *size) { return liblock_info_waiter_owner(info, n, size); });
    const auto instance = text_of([&](size_t *size) { return liblock_info_waiter_instance(info, n, size); });
    if (owner.empty() && instance.empty()) break;  // of more than 65,536 the number alone is told
    waiters.push_back(Record()
                          .set("position", static_cast<uint64_t>(n))
                          .set("owner", owner)
                          .set("instance", instance)
                          .set("since_us", known_us(liblock_info_waiter_since_us(info, n)))
                          .set("waited_ms", liblock_info_waiter_waited_ms(info, n))
                          .set("order", std::string(order_name(liblock_info_waiter_order(info, n))))
                          .set("priority", int64_t{liblock_info_waiter_priority(info, n)}));
  }
  return waiters;
}

}  // namespace lockctl
