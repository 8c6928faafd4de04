// SPDX-License-Identifier: MIT
// The commands, one function each; command_table.cpp says how they are called.
#pragma once

#include "internals.hpp"

namespace liblock_test::lua_shim {

// The places that a range of ranks means: negative ranks count from the end.
SortedSet::Places clamp_places(int64_t first, int64_t last, size_t size);

Reply run_client_setname(const Call &call);
Reply run_dbsize(const Call &call);
Reply run_decr(const Call &call);
Reply run_decrby(const Call &call);
Reply run_del(const Call &call);
Reply run_echo(const Call &call);
Reply run_eval(const Call &call);
Reply run_eval_ro(const Call &call);
Reply run_evalsha(const Call &call);
Reply run_evalsha_ro(const Call &call);
Reply run_exists(const Call &call);
Reply run_expire(const Call &call);
Reply run_flushall(const Call &call);
Reply run_get(const Call &call);
Reply run_getdel(const Call &call);
Reply run_hdel(const Call &call);
Reply run_hexists(const Call &call);
Reply run_hget(const Call &call);
Reply run_hgetall(const Call &call);
Reply run_hincrby(const Call &call);
Reply run_hkeys(const Call &call);
Reply run_hlen(const Call &call);
Reply run_hmget(const Call &call);
Reply run_hset(const Call &call);
Reply run_hsetnx(const Call &call);
Reply run_incr(const Call &call);
Reply run_incrby(const Call &call);
Reply run_info(const Call &call);
Reply run_llen(const Call &call);
Reply run_lpop(const Call &call);
Reply run_lpush(const Call &call);
Reply run_lrange(const Call &call);
Reply run_lrem(const Call &call);
Reply run_mget(const Call &call);
Reply run_persist(const Call &call);
Reply run_pexpire(const Call &call);
Reply run_pexpireat(const Call &call);
Reply run_pexpiretime(const Call &call);
Reply run_ping(const Call &call);
Reply run_pttl(const Call &call);
Reply run_publish(const Call &call);
Reply run_pubsub_numsub(const Call &call);
Reply run_rpop(const Call &call);
Reply run_rpush(const Call &call);
Reply run_sadd(const Call &call);
Reply run_scan(const Call &call);
Reply run_scard(const Call &call);
Reply run_script_exists(const Call &call);
Reply run_script_flush(const Call &call);
Reply run_script_load(const Call &call);
Reply run_select(const Call &call);
Reply run_set(const Call &call);
Reply run_setnx(const Call &call);
Reply run_sismember(const Call &call);
Reply run_smembers(const Call &call);
Reply run_srem(const Call &call);
Reply run_time(const Call &call);
Reply run_ttl(const Call &call);
Reply run_type(const Call &call);
Reply run_wait(const Call &call);
Reply run_zadd(const Call &call);
Reply run_zcard(const Call &call);
Reply run_zcount(const Call &call);
Reply run_zincrby(const Call &call);
Reply run_zpopmax(const Call &call);
Reply run_zpopmin(const Call &call);
Reply run_zrange(const Call &call);
Reply run_zrangebyscore(const Call &call);
Reply run_zrank(const Call &call);
Reply run_zrem(const Call &call);
Reply run_zremrangebyrank(const Call &call);
Reply run_zremrangebyscore(const Call &call);
Reply run_zrevrangebyscore(const Call &call);
Reply run_zrevrank(const Call &call);
Reply run_zscore(const Call &call);

}  // namespace liblock_test::lua_shim
