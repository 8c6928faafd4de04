// SPDX-License-Identifier: MIT
// Instrumentation: who listens, sampling, and what was measured.
#include "boundary.hpp"
#include "context/prometheus.hpp"
#include "engine/log_entries.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

// With the sizes as asked for: a struct of an older header gets what it has room for.
template <typename Struct>
bool size_is_usable(const Struct *given) {
  return given != nullptr && given->struct_size >= sizeof(size_t) && given->struct_size <= 65'536;
}

}  // namespace

liblock_status liblock_set_events(liblock_context *context, uint64_t mask, liblock_event_callback callback,
                                  void *user_data) {
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    context->rep->set_events(mask, callback, user_data);
    return Status::OK;
  });
}

liblock_status liblock_set_log(liblock_context *context, int32_t level, liblock_log_callback callback,
                               void *user_data) {
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    if (level < LIBLOCK_LOG_OFF || level > LIBLOCK_LOG_DEBUG) return Status::INVALID_ARGUMENT;
    context->rep->set_log(level, callback, user_data);
    return Status::OK;
  });
}

void liblock_instrument_options_init(liblock_instrument_options *options, size_t struct_size) {
  init_struct(options, struct_size, default_instrument_options());
}

liblock_status liblock_set_instruments(liblock_context *context, const liblock_instrument_options *options) {
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    InstrumentOptions read;
    if (const Status status = read_instrument_options(options, read); status != Status::OK) return status;
    context->rep->set_instruments(read);
    return Status::OK;
  });
}

void liblock_histogram_init(liblock_histogram *histogram, size_t struct_size) {
  liblock_histogram zeros{};
  init_struct(histogram, struct_size, zeros);
}

liblock_status liblock_histogram_get(liblock_context *context, int32_t which, liblock_histogram *histogram) {
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    const bool is_known = which == LIBLOCK_HISTOGRAM_ACQUIRE || which == LIBLOCK_HISTOGRAM_HOLD;
    if (!is_known || !size_is_usable(histogram)) return Status::INVALID_ARGUMENT;
    const Instruments &instruments = context->rep->instruments();
    liblock_histogram now{};
    const bool is_hold = which == LIBLOCK_HISTOGRAM_HOLD;
    (is_hold ? instruments.hold_times : instruments.acquire_times).read(now);
    init_struct(histogram, histogram->struct_size, now);
    return Status::OK;
  });
}

liblock_status liblock_stats_prometheus(liblock_context *context, char *buffer, size_t size, size_t *needed) {
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    Measured measured;
    measured.stats.struct_size = sizeof measured.stats;
    if (liblock_stats_get(context, &measured.stats) != LIBLOCK_OK) return Status::CLOSED;
    const Instruments &instruments = context->rep->instruments();
    instruments.acquire_times.read(measured.acquire);
    instruments.hold_times.read(measured.hold);
    return copy_text(prometheus_text(measured, context->rep->instance_id()), buffer, size, needed);
  });
}

const char *liblock_event_name(int32_t kind) {
  const char *name = event_name(kind);
  return name != nullptr ? name : "UNKNOWN";
}
