/* SPDX-License-Identifier: MIT
 *
 * liblock: keyed mutual exclusion for the threads of a process, the clients of one Redis server and the clients
 * of a quorum of servers, through the same calls.
 *
 * Conventions, valid for every declaration below:
 *
 *  1. Every function that can fail returns a liblock_status; LIBLOCK_OK is 0. A call that fails changes nothing,
 *     unless its text says otherwise. Statuses in brackets after "Returns" are those a correct program meets;
 *     any call may also return INVALID_ARGUMENT (a bad pointer, size or value), CLOSED (the context was closed),
 *     FORKED (the context was opened before fork()), NO_MEMORY and INTERNAL. A call that asks a server, or the nodes
 *     of a quorum, may return as well what that answers or does not: CONNECT, AUTH, SERVER, READ_ONLY, PROTOCOL,
 *     WRONG_TYPE, UNSUPPORTED and IN_DOUBT; over a quorum NO_QUORUM and QUARANTINED, too. docs/errors.md has the
 *     cause and the cure of each.
 *  2. Keys, values and names are bytes: a pointer and a size, never NUL-terminated text, never shown to be UTF-8.
 *  3. `_ms` is milliseconds, `_max` a bound. Options that are LIBLOCK_DEFAULT take the context's default; after
 *     that zero means zero.
 *  4. Structs begin with struct_size. The init functions (or INIT macros) set it and fill in the defaults. A struct
 *     from an older header gets defaults for what it lacks; one from a newer header must end in zeros, else
 *     UNSUPPORTED. Options and everything they point at are read during the call only.
 *  5. Every `liblock_result *` may be NULL. A result that is given is always filled in, also by a failing call. Its
 *     struct_size must be set; one that is smaller than the first published struct is INVALID_ARGUMENT.
 *  6. Text comes out as with snprintf: at most `size` bytes including a final NUL, the size needed (without the NUL)
 *     in `*needed`.
 *  7. Thread-safety: contexts, owners, completion queues, locks and requests may be used by any number of threads
 *     at once. Infos and cursors belong to one thread at a time. `close` ends everything (calls then answer
 *     CLOSED); `free` is the last call on an object, after which no thread may use it. Both accept NULL.
 *  8. Callbacks run on the library's callback thread, or on the caller's loop where one was given: exactly once, with
 *     no library lock held. What they are given is borrowed until they return. From inside one every call that could
 *     wait (an acquire whose wait_ms is not 0, wait_…, completions_next with a wait, close, and on a context with a
 *     server every call that asks it) returns WOULD_DEADLOCK; the _async twins do not, and an owner closes a moment
 *     later. The log, samplers and backoff_callback run where what they are about happens, and what a list is shown to
 *     on the thread that lists.
 *  9. Nothing here needs a macro: each constant is an enumerator or a plain number that a foreign function interface
 *     can copy, and each INIT macro has a function beside it.
 */
#ifndef LIBLOCK_H
#define LIBLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#if defined(_WIN32)
#error "liblock 0.1 supports Linux only (see README, Limits)"
#endif
#define LIBLOCK_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ version --- */

/* The version of the loaded library as text, such as "0.1.0". Static storage. Since 0.1. */
LIBLOCK_API const char *liblock_version_string(void);
/* The same as a number: LIBLOCK_VERSION_NUMBER of the loaded library. Since 0.1. */
LIBLOCK_API uint32_t liblock_version_number(void);

/* ------------------------------------------------------------------------------------------------- status --- */

typedef int32_t liblock_status;

/* What a status means beyond its name, for liblock_status_is. */
enum {
  LIBLOCK_RETRYABLE = 1,  /* the same call may succeed later without any change */
  LIBLOCK_MAYBE_HELD = 2, /* the lock may be, or may have been, held on a server */
  LIBLOCK_LOST_LOCK = 4   /* the caller must stop what it does under the lock */
};

/* X(name, number, predicates, text). Numbers are never reused; new ones are added in the gaps. */
#define LIBLOCK_STATUS_MAP(X)                                                                                  \
  X(OK, 0, 0, "success")                                                                                       \
  X(BUSY, 1, LIBLOCK_RETRYABLE, "held by another, and one attempt was permitted; wait_ms lets it wait")        \
  X(TIMEOUT, 2, LIBLOCK_RETRYABLE, "wait_ms ended before it was granted; liblock_inspect tells who holds it")  \
  X(RETRIES_EXHAUSTED, 3, LIBLOCK_RETRYABLE, "all permitted retries failed; permit more, or longer intervals") \
  X(CANCELED, 4, 0, "the request was canceled")                                                                \
  X(DEADLOCK, 5, LIBLOCK_RETRYABLE, "waiting would close a cycle of owners that wait for each other")          \
  X(ALREADY_HELD, 6, 0, "the owner holds this key already and on_conflict is FAIL")                            \
  X(DEQUEUED, 7, LIBLOCK_RETRYABLE, "an administrator removed the request from the wait queue")                \
  X(TOO_LATE, 8, LIBLOCK_RETRYABLE, "granted with less than min_remaining_ms left; undone")                    \
  X(NOT_HELD, 20, 0, "not held: free, or released before; each handle is released once")                       \
  X(LOST, 21, LIBLOCK_LOST_LOCK, "the lease ended, or the lock was taken away; stop what you do under it")     \
  X(NOT_OWNER, 22, 0, "held by another owner, or with another value")                                          \
  X(IN_DOUBT, 30, LIBLOCK_RETRYABLE | LIBLOCK_MAYBE_HELD, "no answer yet; the library goes on")                \
  X(PARTIAL, 31, LIBLOCK_MAYBE_HELD, "released on fewer nodes than the quorum; the library goes on")           \
  X(NO_QUORUM, 32, LIBLOCK_RETRYABLE, "fewer nodes answered than the quorum needs")                            \
  X(QUARANTINED, 33, LIBLOCK_RETRYABLE, "too many nodes are quarantined after a restart")                      \
  X(NODES_MISMATCH, 34, 0, "the lock is held on another set of nodes")                                         \
  X(CONNECT, 40, LIBLOCK_RETRYABLE, "the server cannot be reached")                                            \
  X(AUTH, 41, 0, "the server refused the credentials or the permission")                                       \
  X(SERVER, 42, LIBLOCK_RETRYABLE, "the server answered with an error")                                        \
  X(WRONG_TYPE, 43, 0, "the key holds something that is not a lock")                                           \
  X(READ_ONLY, 44, LIBLOCK_RETRYABLE, "the server is a read-only replica")                                     \
  X(PROTOCOL, 45, 0, "the server's answer was not understood")                                                 \
  X(INVALID_ARGUMENT, 60, 0, "an argument is missing, malformed or out of range")                              \
  X(INVALID_HANDLE, 61, 0, "no such handle in this context; use handles where they came from")                 \
  X(OPTIONS_MISMATCH, 62, 0, "the named context is open with other options")                                   \
  X(UNSUPPORTED, 63, 0, "this context, build or version cannot do that")                                       \
  X(LIMIT, 64, LIBLOCK_RETRYABLE, "a bound set in the options is reached")                                     \
  X(WOULD_DEADLOCK, 65, 0, "a call that could wait, made from a callback or a loop thread")                    \
  X(CLOSED, 66, 0, "the context, owner or completion queue is closed")                                         \
  X(FORKED, 67, 0, "opened before fork(); open a new context in the child")                                    \
  X(NO_MEMORY, 68, LIBLOCK_RETRYABLE, "out of memory")                                                         \
  X(INTERNAL, 69, 0, "an unexpected error inside the library")

enum {
#define LIBLOCK_STATUS_ENUM(name, number, predicates, text) LIBLOCK_##name = number,
  LIBLOCK_STATUS_MAP(LIBLOCK_STATUS_ENUM)
#undef LIBLOCK_STATUS_ENUM
};

/* "TIMEOUT" for LIBLOCK_TIMEOUT; "UNKNOWN" for a number that is no status. Static storage. Since 0.1. */
LIBLOCK_API const char *liblock_status_name(liblock_status status);
/* One line of English for a person. Static storage. Since 0.1. */
LIBLOCK_API const char *liblock_status_text(liblock_status status);
/* 1 when the status has all the predicates given (LIBLOCK_RETRYABLE …, or-ed), else 0. Since 0.1. */
LIBLOCK_API int32_t liblock_status_is(liblock_status status, int32_t predicates);

/* ----------------------------------------------------------------------------------------------- handles --- */

typedef struct liblock_context liblock_context;         /* a namespace of keys on one backend */
typedef struct liblock_owner liblock_owner;             /* an identity that holds and waits */
typedef struct liblock_completions liblock_completions; /* a queue where ends of requests can be read */
typedef struct liblock_info liblock_info;               /* a snapshot of one key; owned by who asked for it */
typedef struct liblock_cursor liblock_cursor;           /* a listing under way; owned by who asked for it */

typedef uint64_t liblock_lock;    /* a granted hold, with a generation; 0 is never valid */
typedef uint64_t liblock_request; /* a pending asynchronous call, with a generation; 0 is never valid */

typedef struct liblock_bytes {
  const void *data;
  size_t size;
} liblock_bytes;

/* Name and value of one metadata entry. */
typedef struct liblock_metadata {
  liblock_bytes name;
  liblock_bytes value;
} liblock_metadata;

/* ----------------------------------------------------------------------------------------------- results --- */

enum {
  LIBLOCK_RESULT_REENTERED = 1,      /* shares the hold and token of an earlier acquire of the same owner */
  LIBLOCK_RESULT_WAITED = 2,         /* was queued before it was granted */
  LIBLOCK_RESULT_TOOK_OVER = 4,      /* ended an overdue lease of a former holder */
  LIBLOCK_RESULT_FEWER_REPLICAS = 8, /* granted, but fewer replicas than asked for had it in time */
  LIBLOCK_RESULT_HAD_LOCK = 16,      /* force_release: somebody held the key */
  LIBLOCK_RESULT_HAD_QUEUE = 32      /* force_release: somebody waited for it; queue_length says how many */
};

typedef struct liblock_result {
  size_t struct_size;
  liblock_status status;  /* what the call returned */
  uint32_t attempts;      /* attempts made: 1 + elapsed retry intervals, where something counts them */
  uint64_t token;         /* fencing token of the grant, else 0 */
  int64_t waited_ms;      /* from the call to its end */
  int64_t remaining_ms;   /* what is left of the lease; -1 = no expiry */
  int64_t queue_position; /* 0 = next in line, when the wait ended or the request was queued; -1 = not queued */
  int64_t queue_length;   /* waiters of that key at the same moment; -1 = unknown */
  uint32_t hold_count;    /* handles that share the hold, this one included */
  uint32_t flags;         /* LIBLOCK_RESULT_… */
  uint32_t votes;         /* nodes that granted, released or did what was asked (local, one server: 1 on success) */
  uint32_t nodes;         /* nodes asked; over a quorum both also tell of a failure */
  char message[256];      /* cause and cure of a failure, NUL-terminated, "…" at its end where there is more; empty on
                           * success, but for liblock_open of a quorum and liblock_quorum_status: what is wrong with
                           * its nodes */
  uint32_t replicas;      /* replicas that had the grant within replicas_timeout_ms */
  uint32_t reserved;
  liblock_info *info;     /* NULL, or with busy_info the key that was busy; the caller ends it by liblock_info_free */
} liblock_result;

/* Prepares a result; struct_size is sizeof(liblock_result) in the caller's header. Never fails: NULL and a size
 * too small to hold struct_size are ignored. Since 0.1. */
LIBLOCK_API void liblock_result_init(liblock_result *result, size_t struct_size);
#define LIBLOCK_RESULT_INIT {sizeof(liblock_result), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0, 0}

enum {
  LIBLOCK_KIND_ACQUIRE = 1, /* a request to acquire ended; lock is set when status is OK */
  LIBLOCK_KIND_RELEASE = 2, /* an asynchronous release ended */
  LIBLOCK_KIND_LOST = 3,    /* a lock was lost; status LOST, lock says which */
  LIBLOCK_KIND_WATCH = 4,   /* a wait_…_async ended */
  LIBLOCK_KIND_CLOSE = 5,   /* close_async ended */
  LIBLOCK_KIND_EXTEND = 6,  /* the same of the other _async calls */
  LIBLOCK_KIND_UPDATE = 7,
  LIBLOCK_KIND_VERIFY = 8,
  LIBLOCK_KIND_PING = 9,
  LIBLOCK_KIND_INSPECT = 10, /* info is set when status is OK */
  LIBLOCK_KIND_FORCE_RELEASE = 11,
  LIBLOCK_KIND_READ = 12, /* info is set when status is OK */
  LIBLOCK_KIND_QUORUM_INIT = 13,
  LIBLOCK_KIND_SET_NODES = 14
};

/* The end of a request, or a notice. Borrowed when given to a callback; copied by liblock_completions_next. */
typedef struct liblock_completion {
  size_t struct_size;
  int32_t kind;
  liblock_status status;
  liblock_request request; /* 0 for a notice */
  liblock_lock lock;       /* 0 = none */
  uint64_t token;
  int64_t remaining_ms; /* -1 = no expiry */
  int64_t waited_ms;    /* a grant's by the coarse clock: up to 20 too few */
  void *user_data;
  const char *message; /* as a result has it, but for how many milliseconds it speaks of; static text */
  liblock_info *info;  /* NULL, or a snapshot that the receiver frees by liblock_info_free: of INSPECT, READ, the WATCH
                        * of wait_held_on_async, and of a failed ACQUIRE with busy_info */
  uint32_t attempts;       /* this and what follows as in liblock_result; a notice has 0 here, and -1 in the next two */
  uint32_t hold_count;
  int64_t queue_position;
  int64_t queue_length;
  uint32_t flags;
  uint32_t votes;
  uint32_t nodes;
  uint32_t replicas;
} liblock_completion;

typedef void (*liblock_callback)(const liblock_completion *completion, void *user_data);

/* What liblock_set_events tells; the mask has bit n for kind n. docs/events.md says of each when it comes and what it
 * carries. */
enum {
  LIBLOCK_EVENT_CONNECTED = 1,                /* a server answers */
  LIBLOCK_EVENT_DISCONNECTED = 2,             /* it does not any more, or cannot be reached; status, message: why */
  LIBLOCK_EVENT_SERVER_CHANGED = 3,           /* another server answers: locks are verified before they are renewed */
  LIBLOCK_EVENT_DOUBT_ENDED = 4,              /* a release that was IN_DOUBT has come to its end; lock says which */
  LIBLOCK_EVENT_MAY_EVICT = 5,                /* the server's maxmemory-policy can evict locks; told once */
  LIBLOCK_EVENT_OBTAINED = 6,                 /* a lock on one key, or the global lock, was granted or adopted */
  LIBLOCK_EVENT_REENTERED = 7,                /* granted as a further handle of the owner's own hold */
  LIBLOCK_EVENT_EXTENDED = 8,                 /* the lease was set anew by liblock_extend or REENTER_EXTEND, or back */
  LIBLOCK_EVENT_HOLD_AND_RELEASE = 9,         /* given back by its holder: how long it took to get, and was held */
  LIBLOCK_EVENT_SERIES_OBTAINED = 10,         /* OBTAINED of a lock on several keys */
  LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE = 11, /* HOLD_AND_RELEASE of a lock on several keys */
  LIBLOCK_EVENT_LOST = 12,                    /* the lease ended, or the lock was taken away */
  LIBLOCK_EVENT_REQUEUED = 13,                /* a waiter went to the end of the queue after its queue_ttl_ms */
  LIBLOCK_EVENT_HANDED_OFF = 14,              /* a waiter was handed a key by its holder's release */
  LIBLOCK_EVENT_DEADLOCK_FOUND = 15,          /* a wait closed a cycle of owners; count: how many */
  LIBLOCK_EVENT_DEQUEUED = 16,                /* an administrator ended a wait */
  LIBLOCK_EVENT_DEQUEUED_ON_LIMIT = 17,       /* an acquire ended as BUSY, TIMEOUT or RETRIES_EXHAUSTED; status */
  LIBLOCK_EVENT_FAILED = 18,                  /* an acquire ended in any other way without a lock; status */
  LIBLOCK_EVENT_FORCE_RELEASED = 19,          /* liblock_force_release took a key away */
  LIBLOCK_EVENT_CLEARED = 20,                 /* liblock_clear; count: locks */
  LIBLOCK_EVENT_OWNER_CLEARED = 21,           /* liblock_clear_owner; owner, count */
  LIBLOCK_EVENT_INSTANCE_CLEARED = 22,        /* liblock_clear_instance; instance, count */
  LIBLOCK_EVENT_DEAD_CLEARED = 23,            /* liblock_clear_dead, or a flush in the background; count */
  LIBLOCK_EVENT_OWNER_CLOSED = 24,            /* liblock_owner_close, or the owner's thread has ended; owner, count */
  LIBLOCK_EVENT_NODE_UP = 25,                 /* a node of a quorum answers; node, as in all of these */
  LIBLOCK_EVENT_NODE_DOWN = 26,               /* it does not any more, or cannot be reached; status, message: why */
  LIBLOCK_EVENT_NODE_QUARANTINED = 27,        /* it may have lost its data: no vote until that is safe */
  LIBLOCK_EVENT_NODE_REJOINED = 28,           /* it votes again */
  LIBLOCK_EVENT_NODE_STEPPED = 29,            /* its clock has moved by clock_step_ms: no vote for max_ttl_ms here */
  LIBLOCK_EVENT_CLOCK_DERIVED = 30,           /* too few nodes remember: tokens go on from the clock of this one */
  LIBLOCK_EVENT_CONFIGURED = 31,              /* the quorum has other nodes or votes; no node; count: nodes */
  LIBLOCK_EVENT_CLEARTEXT_PASSWORD = 32       /* the password goes to another host without TLS */
};

/* Times in us are microseconds; -1 stands for what is not known, or has no meaning in this kind of event. What is
 * pointed at is borrowed until the callback returns. No field ever has a password, a value or metadata. */
typedef struct liblock_event {
  size_t struct_size;
  int32_t kind; /* LIBLOCK_EVENT_… */
  liblock_status status;
  liblock_lock lock; /* 0 = none */
  uint64_t token;
  const char *message;
  uint64_t tag;              /* event_tag of the acquire */
  int64_t at_us;             /* when it happened: wall clock, since 1970 */
  int64_t obtained_at_us;    /* when the lock was granted: wall clock, since 1970 */
  liblock_bytes key;         /* of several the first that was given, or the one that it is about: handed over, or in
                              * the way of an acquire that failed; without prefix */
  const liblock_bytes *keys; /* all that were given; NULL for the global lock and where there is no acquire */
  size_t key_count;
  liblock_bytes owner;      /* identity, as in listings */
  liblock_bytes instance;   /* the same; of this context, but for INSTANCE_CLEARED */
  int64_t ttl_ms;           /* what was asked for; -1 = no expiry */
  int64_t acquire_us;       /* from the call to the grant */
  int64_t hold_us;          /* from the grant to its end */
  int64_t elapsed_us;       /* that the call took: release, extend, administration */
  uint64_t count;           /* locks that were cleared or closed; owners of a cycle */
  int64_t queue_position;   /* 0 = next in line */
  int64_t queue_length;     /* waiters of the key */
  uint32_t attempts;        /* as in liblock_result */
  uint32_t hold_count;      /* handles that share the hold */
  liblock_bytes node;       /* of a quorum: the node's address, as liblock_node has it */
} liblock_event;

typedef void (*liblock_event_callback)(const liblock_event *event, void *user_data);

/* Levels of the log: each contains those before it. */
enum {
  LIBLOCK_LOG_OFF = 0,
  LIBLOCK_LOG_ERROR = 1,
  LIBLOCK_LOG_WARNING = 2,
  LIBLOCK_LOG_INFO = 3,
  LIBLOCK_LOG_DEBUG = 4
};

/* What liblock_set_log writes. docs/events.md says of each when it comes, at which level, and with which fields. Those
 * of an ATTEMPT are written only where log_attempts, or LIBLOCK_INSTRUMENT_ATTEMPTS, asks for them. */
enum {
  LIBLOCK_ENTRY_ACQUIRE_STARTED = 1,          /* an acquire begins */
  LIBLOCK_ENTRY_CYCLE_STARTED = 2,            /* its attempts begin */
  LIBLOCK_ENTRY_REQUEUED = 3,                 /* it went to the end of the queue */
  LIBLOCK_ENTRY_OBTAINED = 4,                 /* it was granted */
  LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT = 5,        /* it ended as BUSY, TIMEOUT or RETRIES_EXHAUSTED */
  LIBLOCK_ENTRY_RELEASED = 6,                 /* the lock was given back */
  LIBLOCK_ENTRY_ATTEMPT_STARTED = 7,          /* an attempt begins: the first, or one that a retry interval counts */
  LIBLOCK_ENTRY_ATTEMPT_READY = 8,            /* it has what it needs: a connection, the parts of a local table */
  LIBLOCK_ENTRY_ATTEMPT_QUEUED = 9,           /* it stands in the queue now */
  LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED = 10, /* whose time is over has been removed */
  LIBLOCK_ENTRY_ATTEMPT_FIRST_IN_QUEUE = 11,  /* who is first in the queue has been seen */
  LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED = 12, /* it ends since the waiter is to go to the end of the queue */
  LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST = 13,       /* it ends since others go first */
  LIBLOCK_ENTRY_ATTEMPT_STILL_HELD = 14,      /* it ends since somebody holds the key */
  LIBLOCK_ENTRY_ATTEMPT_FREE = 15,            /* nobody is in the way: the lock is taken */
  LIBLOCK_ENTRY_ATTEMPT_FAILED = 16,          /* it could not be made; status */
  LIBLOCK_ENTRY_REENTERED = 17,               /* granted as a further handle of the owner's own hold */
  LIBLOCK_ENTRY_EXTENDED = 18,                /* the lease was set anew */
  LIBLOCK_ENTRY_LOST = 19,                    /* the lease ended, or the lock was taken away */
  LIBLOCK_ENTRY_HANDED_OFF = 20,              /* a waiter was handed a key */
  LIBLOCK_ENTRY_DEADLOCK_FOUND = 21,          /* its wait closed a cycle of owners */
  LIBLOCK_ENTRY_FAILED = 22,                  /* the acquire ended without a lock in another way */
  LIBLOCK_ENTRY_SERVER = 23                   /* events 1 to 5, and 25 to 32 */
};

enum { LIBLOCK_FIELD_NUMBER = 1, LIBLOCK_FIELD_TEXT = 2 };

typedef struct liblock_log_field {
  const char *name; /* static text; units last, as in hold_us */
  int32_t type;     /* LIBLOCK_FIELD_…: which of the two holds */
  int32_t reserved; /* 0 */
  int64_t number;
  liblock_bytes text; /* bytes: a key may have any */
} liblock_log_field;

/* Borrowed until the callback returns, with everything in it. Never has a password, a value or metadata. */
typedef struct liblock_log_entry {
  size_t struct_size;
  int32_t id;          /* LIBLOCK_ENTRY_… */
  int32_t level;       /* LIBLOCK_LOG_ERROR … */
  int64_t at_us;       /* wall clock, since 1970 */
  const char *name;    /* of the id, in small letters: "attempt_started"; static text */
  const char *message; /* one line of English */
  uint64_t tag;        /* event_tag of the acquire */
  const liblock_log_field *fields;
  size_t field_count;
} liblock_log_entry;

typedef void (*liblock_log_callback)(const liblock_log_entry *entry, void *user_data);

/* Shall this acquire be told about? percent is what the options say; key is NULL for the global lock, else the first
 * that was given. 0 = no. Runs on the thread that acquires; must not block or call the library. */
typedef int32_t (*liblock_sampler)(int32_t percent, const liblock_bytes *key, uint64_t tag, void *user_data);

/* -------------------------------------------------------------------------------------- context, options --- */

#define LIBLOCK_DEFAULT INT64_MIN /* "the default of this context" in every int64_t option */

enum { LIBLOCK_ON_CLOSE_RELEASE = 0, LIBLOCK_ON_CLOSE_LEAVE = 1 };

/* What a node of a quorum is worth that has been restarted. */
enum {
  LIBLOCK_RESTART_QUARANTINE = 0, /* it may have lost locks: no vote for max_ttl_ms (default) */
  LIBLOCK_RESTART_TRUST_FSYNC = 1 /* every node says appendfsync always: one that still has its marker lost nothing */
};
#define LIBLOCK_VOTES_ALL ((int32_t)-1) /* as many votes as there are nodes */

typedef void (*liblock_open_callback)(liblock_context *context, void *user_data);

/* Of several contexts that open the same `local:NAME`, all must give the same values for the fields marked (table). */
typedef struct liblock_context_options {
  size_t struct_size;
  void *uv_loop;                 /* uv_loop_t* of the caller, or NULL: the library's own thread, started when needed */
  liblock_open_callback on_open; /* called once per table, on the thread that opens, before open returns */
  void *on_open_user_data;
  const void *prefix;           /* (table) put before every key; local "", servers "liblock:" */
  size_t prefix_size;           /* 0 to 256 bytes, 0 = no prefix at all; used only when prefix is not NULL */
  int64_t cleanup_interval_ms;  /* (table) between sweeps for overdue locks; local 300,000; -1 = off; 0 is invalid */
  int64_t cleanup_batch_size;   /* (table) entries looked at per step of a sweep; local 100; 1 to 65,536 */
  int64_t max_ttl_ms;           /* (table) longest ttl accepted; local: no bound; one server 86,400,000, which is also
                                 * the most; a quorum 60,000: what liblock_quorum_init was given counts for all, and all
                                 * give it: where all nodes have lost their data nobody else knows how long to wait */
  int64_t deadlock_detection;   /* (table) 1 = on (default), 0 = off */
  int64_t deadlock_delay_ms;    /* (table) waiting time before a search; local 1, servers 100; 0 = at once */
  int64_t locks_max;            /* (table) keys held at once; default 16,777,216; 1 to 67,108,864 */
  int64_t waiters_max;          /* (table) requests waiting at once; default 1,000,000; 0 to 16,777,216 */
  int64_t requests_max;         /* asynchronous requests pending at once in this context; default 1,000,000 */
  int32_t on_close;             /* LIBLOCK_ON_CLOSE_RELEASE (default), or LEAVE: leases run out by themselves; the
                                 * table itself goes with its last context */
  int32_t reserved;             /* 0 */
  /* Contexts with a server; texts end in NUL and are copied, NULL = none. */
  const char *username;             /* instead of one in the url */
  const char *password;             /* the same; never printed, and wiped after use */
  const char *client_name;          /* CLIENT SETNAME; NULL = "liblock", "" = none */
  int64_t connect_timeout_ms;       /* name, connection, TLS and greeting; 1,000; 1 to 600,000 */
  int64_t command_timeout_ms;       /* one answer of the server; 1,000, of a node of a quorum 200; 1 to 600,000 */
  int64_t alive_ms;                 /* a waiter that is silent so long counts as dead; 3,000; 30 to 600,000 */
  const char *tls_ca_file;          /* whom to trust (PEM); NULL with tls_ca_path NULL = the system's list */
  const char *tls_ca_path;          /* the same as a directory */
  const char *tls_certificate_file; /* who we are (PEM), where the server asks; with tls_key_file */
  const char *tls_key_file;
  const char *tls_server_name;      /* the name to expect instead of the url's host */
  int32_t tls_insecure;             /* 1 = any certificate will do: anybody in between can be the server */
  int32_t reserved2;                /* 0 */
  int64_t foreign_gap_ms;           /* a release with waiters leaves the key free for clients of other libraries, who
                                     * cannot queue, so often at most; 100; 0 = each time; -1 = never; to 600,000 */
  int64_t zombie_interval_ms;       /* between two signs of life (liblock_list_instances); 10,000; 100 to 3,600,000;
                                     * -1 = gives none: is on no list, is flushed and flushes in the background never */
  /* Contexts over a quorum. Servers are urls as liblock_open takes them, or as they stand behind "quorum:". */
  const char *const *servers;   /* 1 to 15, each another server; then the url is NULL */
  size_t server_count;
  const char *const *observers; /* servers that are told of every lock and never vote, to read from; 0 to 15 */
  size_t observer_count;
  int64_t clock_step_ms;        /* a node whose clock moves so far gives no vote for max_ttl_ms; 500; 1 to 600,000 */
  int32_t votes;                /* nodes that must grant: more than half, or LIBLOCK_VOTES_ALL; 0 = a majority */
  int32_t restart_policy;       /* LIBLOCK_RESTART_…; every context of the quorum must say the same */
  int64_t front_ms;             /* servers: a lock goes from hand to hand within this context, without a round trip,
                                 * while nobody else is known to wait, and for so long after that; 0; to 600,000; -1 =
                                 * never: each release and each waiter is the servers' business */
} liblock_context_options;

LIBLOCK_API void liblock_context_options_init(liblock_context_options *options, size_t struct_size);

/* Opens a context.
 *   url      "local:NAME" the same table for everyone in the process who opens this name (1 to 255 bytes);
 *            "local:" a table of its own;
 *            "redis://[user[:password]@]host[:port][/db]" one Redis or Valkey server, "rediss://" the same over TLS,
 *            "unix:///path[?db=N]" the same through a unix socket. %XX stands for a byte. Connecting begins with the
 *            first call that needs the server: liblock_ping tells whether it is there;
 *            "quorum:URL,URL,…" 1 to 15 independent servers of which a majority must agree (votes), in any order, each
 *            a url as before (a ',' within one is %2C); NULL with servers in the options is the same. Waits until all
 *            nodes have answered, for connect_timeout_ms at most (not in a callback or with a caller's loop), and is OK
 *            also when they did not: the message says which nodes do not vote, for how long, and the cure.
 *   options  NULL = all defaults.
 *   context  receives the context; the caller ends it by liblock_close and liblock_context_free.
 * Returns [OK, OPTIONS_MISMATCH, UNSUPPORTED]. With a caller's loop: call on that loop's thread. Since 0.1. */
LIBLOCK_API liblock_status liblock_open(const char *url, const liblock_context_options *options,
                                        liblock_context **context, liblock_result *result);

/* Ends everything the context does: pending waits and requests end as CLOSED, locks are released or left (on_close),
 * owners are closed; returns when no other thread is inside a wait of this context and, with servers, when they have
 * released the locks, or for command_timeout_ms have answered no release. Callbacks of the ended requests still come. A
 * second call returns OK. Returns [OK, WOULD_DEADLOCK from inside a callback, NO_MEMORY: all calls answer CLOSED, call
 * it again to end the rest]. Since 0.1. */
LIBLOCK_API liblock_status liblock_close(liblock_context *context);

/* The same without waiting; the callback (may be NULL) comes behind those of all that this ends, and the context may be
 * freed in it: of several calls in the one that comes last. Returns [OK, NO_MEMORY or INTERNAL (no thread): no callback
 * comes; call it again, CLOSED: not the first call, on a caller's loop]. Since 0.1. */
LIBLOCK_API liblock_status liblock_close_async(liblock_context *context, liblock_callback callback, void *user_data);

/* Frees a context; closes it first where that was forgotten. The last call on it. Where closing finds no memory for a
 * second, it ends the process (docs/errors.md): nobody could release then what is held. The name of a table may come
 * back with other options once the last context that had it open is closed; where one has left locks (LEAVE), once they
 * are all freed, and their completion queues and cursors. Since 0.1. */
LIBLOCK_API void liblock_context_free(liblock_context *context);

/* Is the backend there? Local: OK while open. Returns [OK, CONNECT, AUTH, SERVER …]. Since 0.1. */
LIBLOCK_API liblock_status liblock_ping(liblock_context *context, liblock_result *result);

/* The identity of this context among all instances, as text: "process-random@host". Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_instance_id(liblock_context *context, char *buffer, size_t size, size_t *needed);

/* ------------------------------------------------------------------------------------------------- owners --- */

/* Passed as `owner`: the calling thread. Its locks are released and its waits end when it exits. */
#define LIBLOCK_OWNER_THREAD ((liblock_owner *)1)

/* Opens an owner: an identity that may hold a key several times (reentry), takes part in deadlock detection, and can
 * release by key. `name` (0 to 255 bytes) is shown in listings; names need not be unique, every open is an identity
 * of its own. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_owner_open(liblock_context *context, const void *name, size_t name_size,
                                              liblock_owner **owner, liblock_result *result);
/* Releases all its locks, ends its waits as CLOSED and lets the next waiters run; in a callback and on a loop thread,
 * where nobody may wait for a server, a moment after it has returned. A second call returns OK. Returns
 * [OK, NO_MEMORY: call it again to end the rest]. Since 0.1. */
LIBLOCK_API liblock_status liblock_owner_close(liblock_owner *owner);
/* Closes where that was forgotten, then frees. Must come before liblock_context_free of its context. Since 0.1. */
LIBLOCK_API void liblock_owner_free(liblock_owner *owner);
/* The identity as shown in listings: "instance/number/name". Also for LIBLOCK_OWNER_THREAD, with a context. */
LIBLOCK_API liblock_status liblock_owner_id(liblock_context *context, const liblock_owner *owner, char *buffer,
                                            size_t size, size_t *needed);

/* ------------------------------------------------------------------------------------------------ acquire --- */

#define LIBLOCK_TTL_AUTO ((int64_t)-1) /* as long as the process holds it */
#define LIBLOCK_TTL_NONE ((int64_t)-2) /* no expiry */

enum { LIBLOCK_ORDER_FIFO = 0, LIBLOCK_ORDER_LIFO = 1, LIBLOCK_ORDER_PRIORITY = 2, LIBLOCK_ORDER_ANY = 3 };
enum { LIBLOCK_MODE_EXCLUSIVE = 0 };
enum { LIBLOCK_BACKOFF_FIXED = 0, LIBLOCK_BACKOFF_LINEAR = 1, LIBLOCK_BACKOFF_EXPONENTIAL = 2 };
/* What an acquire of a key does that the same named owner holds already, or comes to hold while this one waits. */
enum {
  LIBLOCK_ON_CONFLICT_REENTER = 0,        /* a further handle on the same hold and token (default) */
  LIBLOCK_ON_CONFLICT_REENTER_EXTEND = 1, /* the same, and the lease is set anew by this acquire's ttl_ms; with its
                                           * release it goes back to what was left of it, unless set since */
  LIBLOCK_ON_CONFLICT_WAIT = 2,           /* waits, even for itself */
  LIBLOCK_ON_CONFLICT_FAIL = 3            /* ALREADY_HELD */
};
/* What happens when a wait closes a cycle of named owners. */
enum {
  LIBLOCK_ON_DEADLOCK_FAIL_SELF = 0,     /* the wait that found the cycle ends as DEADLOCK (default) */
  LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST = 1, /* the wait of the cycle that began last ends as DEADLOCK */
  LIBLOCK_ON_DEADLOCK_REPORT_ONLY = 2    /* counted in the statistics only */
};

/* For liblock_acquire_options.instrument: this acquire and its lock are told about, where anybody listens. */
enum {
  LIBLOCK_INSTRUMENT_EVENTS = 1,  /* in events, whatever events_percent and events_sampler say */
  LIBLOCK_INSTRUMENT_LOG = 2,     /* in the log, whatever log_percent and log_sampler say */
  LIBLOCK_INSTRUMENT_ATTEMPTS = 4 /* where it is logged, with an entry for each step of each attempt */
};

/* What a named owner's acquire over a quorum does that asks for other nodes than those that hold the key for it
 * already: get a further handle on those, or end as NODES_MISMATCH. */
enum {
  LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT = 0, /* fails when they have no node in common (default) */
  LIBLOCK_NODES_MISMATCH_IGNORE = 1,
  LIBLOCK_NODES_MISMATCH_FAIL = 2,                    /* fails unless they are the same */
  LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP = 3 /* fails when not more than half of those asked for hold it */
};

/* How long to wait before retry `attempt` (0-based), in ms; used as it is, without jitter; 0 = at once; negative ends
 * the acquire as INVALID_ARGUMENT. Runs where the attempt runs, must not block or call the library. */
typedef int64_t (*liblock_backoff_callback)(uint32_t attempt, void *user_data);

/* Where a waiting acquire stands in the queue: position 0 = next in line; length: waiters of the key, itself included
 * (of several keys the one that it waits for now). A blocking acquire runs it on its own thread, an asynchronous one as
 * callbacks run; never after the end of the acquire can be known. The same calls are WOULD_DEADLOCK in it as in any
 * callback. */
typedef void (*liblock_queued_callback)(int64_t position, int64_t length, void *user_data);

typedef struct liblock_acquire_options {
  size_t struct_size;
  liblock_owner *owner;      /* NULL: the lock belongs to its handle alone; LIBLOCK_OWNER_THREAD; or an open owner */
  int64_t ttl_ms;            /* 1 (servers: 20) and more, TTL_AUTO (default), TTL_NONE. TTL_AUTO: local no expiry,
                              * servers 30,000 kept alive by renewal. What is renewed there begins with a lease of
                              * 3,000 at most, and has all of ttl_ms from its first renewal on, a second later */
  int64_t wait_ms;           /* how long to wait; -1 = for ever (default); 0 = try once */
  int64_t retries;           /* retry intervals to wait through; -1 = no limit (default); 0 = try once */
  int64_t retry_interval_ms; /* local 10, servers 1,000; while queued an elapsed interval counts as a retry */
  int64_t retry_jitter_ms;   /* 0..this is added at random; default: local as much as the interval, servers 20 % */
  int32_t backoff;           /* FIXED: interval; LINEAR: interval + n * step; EXPONENTIAL: interval * base ^ n */
  int32_t backoff_base;      /* EXPONENTIAL; 2 (default) to 1,000 */
  int64_t backoff_step_ms;   /* LINEAR; default: as much as retry_interval_ms */
  int64_t backoff_cap_ms;    /* longest interval of LINEAR and EXPONENTIAL; default 60,000 */
  liblock_backoff_callback backoff_callback; /* instead of the above, or NULL */
  void *backoff_user_data;
  int32_t order;        /* LIBLOCK_ORDER_… */
  int32_t priority;     /* ORDER_PRIORITY: higher goes first; -1,000,000 to 1,000,000 */
  int64_t age_step_ms;  /* ORDER_PRIORITY: a wait of so long is one step of priority; default 1,000; 1 to 86,400,000 */
  int64_t queue_ttl_ms; /* after it the waiter goes to the end of the queue; -1 = never (default) */
  int32_t mode;         /* LIBLOCK_MODE_EXCLUSIVE; all else is UNSUPPORTED */
  int32_t on_conflict;  /* LIBLOCK_ON_CONFLICT_…; only with an owner */
  int32_t on_deadlock;  /* LIBLOCK_ON_DEADLOCK_…; only with an owner */
  int32_t renew;        /* 1 = renewed every ttl_ms / 3 while held; needs a ttl_ms */
  int64_t max_hold_ms;  /* end of the hold under renewal, from the grant on; -1 = none (default) */
  int64_t min_remaining_ms; /* a grant with less left of its lease is undone: TOO_LATE; default 0 */
  const void *value;        /* carried by the lock, 0 to 4,096 bytes */
  size_t value_size;
  const liblock_metadata
      *metadata; /* carried by the lock; 4,096 bytes in all, 64 entries at most; names that every
                                     * info has are refused: key, lock_key, owner, instance, host, token, since,
                                     * since_us, initial_ttl_ms, remaining_ms, count, hold_count, value */
  size_t metadata_count;
  liblock_callback on_lost;         /* once, when the lock is lost; a notice: liblock_is_held is the authority */
  void *on_lost_user_data;          /* not called for a lock that was released */
  liblock_completions *completions; /* asynchronous calls: where the end is read, instead of a callback. Losses come
                                     * there as well, also those of blocking calls, and beside on_lost */
  int64_t replicas_timeout_ms;      /* how long, half of the lease at most; 1 to 60,000; default 1,000 */
  int32_t replicas;                 /* servers only: a grant waits (WAIT), beyond wait_ms too, for so many; 0 to 64 */
  int32_t instrument;               /* LIBLOCK_INSTRUMENT_…, or-ed: what is told whatever the sampling says */
  uint64_t event_tag;               /* comes back in every event and log entry of this acquire and its lock */
  liblock_queued_callback on_queued; /* told when position or length are seen to have changed: looked at every
                                      * retry_interval_ms, less often far back in a long queue; on a server with each
                                      * sign of life, alive_ms / 3 apart at most. Not of ORDER_ANY, and not together
                                      * with completions in an asynchronous acquire. NULL = none */
  void *on_queued_user_data;
  int32_t busy_info; /* 1 = an end as BUSY, TIMEOUT or RETRIES_EXHAUSTED brings the info of the key that was busy, its
                      * holder and waiters as they are then; a blocking call's message says so, too. On a server that
                      * is one call more, beyond wait_ms. Not of the global lock, or of a key in its way. 0 (default) */
  int32_t reserved;  /* 0 */
  const char *const *nodes;  /* quorum only: the nodes that this lock is on, by their addresses as in the url (user,
                              * password left out) or by their ids; NULL = all. Locks exclude each other where they have
                              * a node in common, or with fewer votes than all, where they are on the same nodes */
  size_t node_count;         /* 1 to 15 */
  int32_t votes;             /* of these: more than half, or LIBLOCK_VOTES_ALL; 0 = the context's, with nodes: all */
  int32_t on_nodes_mismatch; /* LIBLOCK_NODES_MISMATCH_…; only with an owner */
} liblock_acquire_options;

LIBLOCK_API void liblock_acquire_options_init(liblock_acquire_options *options, size_t struct_size);

/* Acquires one key (1 to 512 bytes), waiting as the options say. NULL options = all defaults (waits for ever).
 *   lock    receives the handle on OK, else 0. Release each handle exactly once.
 * Returns [OK, BUSY, TIMEOUT, RETRIES_EXHAUSTED, DEADLOCK, ALREADY_HELD, DEQUEUED, TOO_LATE, LIMIT,
 * WOULD_DEADLOCK; over a quorum also NO_QUORUM, QUARANTINED, NODES_MISMATCH, IN_DOUBT]. The uncontended local call
 * makes no system call and no allocation once warm. Since 0.1. */
LIBLOCK_API liblock_status liblock_acquire(liblock_context *context, const void *key, size_t key_size,
                                           const liblock_acquire_options *options, liblock_lock *lock,
                                           liblock_result *result);
/* The same with one attempt: wait_ms and retries of the options count as 0. Never waits for a holder (on a server: for
 * one answer, behind those that the context was asked for before, and for replicas where they are asked for).
 * Since 0.1. */
LIBLOCK_API liblock_status liblock_try_acquire(liblock_context *context, const void *key, size_t key_size,
                                               const liblock_acquire_options *options, liblock_lock *lock,
                                               liblock_result *result);
/* Acquires 1 to 1,024 keys as one all-or-nothing lock with one handle and one token, larger than every earlier one of
 * each key; duplicates are folded. When not all are free it queues on the first busy key in byte order, keeps the
 * keys before that one, and goes on when handed it; every failing end gives all back. Since 0.1. */
LIBLOCK_API liblock_status liblock_acquire_many(liblock_context *context, const liblock_bytes *keys, size_t count,
                                                const liblock_acquire_options *options, liblock_lock *lock,
                                                liblock_result *result);
/* Excludes every other lock of the context's table. While it waits, new keyed requests queue behind it, except those
 * of owners that hold a key already. A thread that holds a key without naming an owner and asks for another one under
 * a waiting global lock waits for ever: name an owner, or use acquire_many. Local contexts only. Since 0.1. */
LIBLOCK_API liblock_status liblock_acquire_global(liblock_context *context, const liblock_acquire_options *options,
                                                  liblock_lock *lock, liblock_result *result);

/* The same without waiting on the calling thread. The end comes to the callback, or to options.completions (then the
 * callback must be NULL; user_data comes back in either). *request (not NULL) is written before the end can be
 * reported. Returns [OK = accepted, LIMIT]; on any other status there is no request and no callback. Since 0.1. */
LIBLOCK_API liblock_status liblock_acquire_async(liblock_context *context, const void *key, size_t key_size,
                                                 const liblock_acquire_options *options, liblock_callback callback,
                                                 void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_acquire_many_async(liblock_context *context, const liblock_bytes *keys, size_t count,
                                                      const liblock_acquire_options *options,
                                                      liblock_callback callback, void *user_data,
                                                      liblock_request *request);
LIBLOCK_API liblock_status liblock_acquire_global_async(liblock_context *context,
                                                        const liblock_acquire_options *options,
                                                        liblock_callback callback, void *user_data,
                                                        liblock_request *request);
/* Asks a pending request to end, an acquire or a wait for others. Its completion still comes: CANCELED, or whatever
 * ended it before, which may be OK. Of other requests nothing is canceled: they end by themselves.
 * Returns [OK, INVALID_HANDLE when the request has ended already or never was]. Since 0.1. */
LIBLOCK_API liblock_status liblock_cancel(liblock_context *context, liblock_request request);

/* --------------------------------------------------------------------------------------------- the lock --- */

/* Gives a lock back; the next waiter has it, or has been woken, when this returns. Returns [OK, LOST: the lease had
 * ended or the lock was taken away, nobody else is touched, NOT_HELD: released before, IN_DOUBT: no answer of the
 * server, it goes on in the background until its end is an event, PARTIAL: the same, of so many nodes that fewer than
 * the votes have confirmed it, INVALID_HANDLE]. LOST is answered once per handle;
 * afterwards NOT_HELD. Since 0.1. */
LIBLOCK_API liblock_status liblock_release(liblock_context *context, liblock_lock lock, liblock_result *result);
/* Gives back keys of a named owner, each once, also a part of a multi-key lock; of several handles on one key the
 * youngest gives. All or nothing: NOT_HELD when one key is not held by this owner, CLOSED when he was closed before. A
 * handle whose last key went is NOT_HELD. Since 0.1. */
LIBLOCK_API liblock_status liblock_release_keys(liblock_context *context, liblock_owner *owner,
                                                const liblock_bytes *keys, size_t count, liblock_result *result);

enum { LIBLOCK_EXTEND_SET = 0, LIBLOCK_EXTEND_ADD = 1 };
/* Sets the lease of all keys of the lock to end ttl_ms from now (EXTEND_ADD: adds to what remains). A lock that is
 * renewed still is: to the new ttl_ms (EXTEND_SET), or later (EXTEND_ADD). TTL_NONE takes the expiry away; so does
 * TTL_AUTO in a local context, on a server it sets 30 s and renews. Handles that share the hold share the lease.
 * Returns [OK, LOST, NOT_HELD, INVALID_HANDLE]. Since 0.1. */
LIBLOCK_API liblock_status liblock_extend(liblock_context *context, liblock_lock lock, int64_t ttl_ms, int32_t flags,
                                          liblock_result *result);
/* Replaces the value that the lock carries (0 to 4,096 bytes). Returns [OK, LOST, NOT_HELD, INVALID_HANDLE; over a
 * quorum BUSY: nothing was changed, since others change it at the same time, or one that did has not been heard of for
 * too short a time; call again]. */
LIBLOCK_API liblock_status liblock_update(liblock_context *context, liblock_lock lock, const void *value,
                                          size_t value_size, liblock_result *result);

/* The same three by key and by the value that the lock carries, without its handle and from any context of the table
 * or prefix: for whoever was told the value (expected_size 0 = none). After a release the holder's handles are LOST. A
 * lease that is renewed goes on being renewed; on a server one is never shortened this way, and its holder counts on
 * no more than he asked for himself. ttl_ms cannot be TTL_AUTO. Returns [OK, NOT_HELD, NOT_OWNER: it carries another
 * value, or belongs to a foreign client, IN_DOUBT: no answer, BUSY: an update as of liblock_update]. Since 0.1. */
LIBLOCK_API liblock_status liblock_release_key(liblock_context *context, const void *key, size_t key_size,
                                               const void *expected, size_t expected_size, liblock_result *result);
LIBLOCK_API liblock_status liblock_extend_key(liblock_context *context, const void *key, size_t key_size,
                                              const void *expected, size_t expected_size, int64_t ttl_ms,
                                              int32_t flags, liblock_result *result);
LIBLOCK_API liblock_status liblock_update_key(liblock_context *context, const void *key, size_t key_size,
                                              const void *expected, size_t expected_size, const void *value,
                                              size_t value_size, liblock_result *result);

/* Held right now? Answered from memory, no I/O. Returns [OK, LOST, NOT_HELD, INVALID_HANDLE]. Since 0.1. */
LIBLOCK_API liblock_status liblock_is_held(liblock_context *context, liblock_lock lock);
/* What is left of the lease; -1 = no expiry. Returns as liblock_is_held. Since 0.1. */
LIBLOCK_API liblock_status liblock_remaining_ms(liblock_context *context, liblock_lock lock, int64_t *remaining_ms);
/* The fencing token: strictly increasing per key over all grants. Returns as liblock_is_held. Since 0.1. */
LIBLOCK_API liblock_status liblock_fencing_token(liblock_context *context, liblock_lock lock, uint64_t *token);
/* Handles that share the hold of the lock's first key. Returns as liblock_is_held. Since 0.1. */
LIBLOCK_API liblock_status liblock_hold_count(liblock_context *context, liblock_lock lock, uint32_t *count);
/* Asks the backend itself. Local: the same as liblock_is_held, with a result. Since 0.1. */
LIBLOCK_API liblock_status liblock_verify(liblock_context *context, liblock_lock lock, liblock_result *result);
/* Waits until the lock is no longer held. Returns [LOST, NOT_HELD: it was released, TIMEOUT: still held after
 * wait_ms (-1 = for ever), INVALID_HANDLE, WOULD_DEADLOCK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_wait_lost(liblock_context *context, liblock_lock lock, int64_t wait_ms,
                                             liblock_result *result);

/* The same without waiting on the calling thread: where a server is talked to, each of these is one round trip that
 * a callback or a loop thread must not wait for. The end comes to the callback, or to the completion queue (one of the
 * two, or neither: fire and forget); *request (may be NULL) is written before the end can be reported. What is pointed
 * at is read during the call only. Returns [OK = accepted, LIMIT]; on any other status nothing happens. A request of
 * these cannot be canceled: it ends by itself within the time-outs of the context. Since 0.1. */
LIBLOCK_API liblock_status liblock_release_async(liblock_context *context, liblock_lock lock,
                                                 liblock_completions *completions, liblock_callback callback,
                                                 void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_release_keys_async(liblock_context *context, liblock_owner *owner,
                                                      const liblock_bytes *keys, size_t count,
                                                      liblock_completions *completions, liblock_callback callback,
                                                      void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_extend_async(liblock_context *context, liblock_lock lock, int64_t ttl_ms,
                                                int32_t flags, liblock_completions *completions,
                                                liblock_callback callback, void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_update_async(liblock_context *context, liblock_lock lock, const void *value,
                                                size_t value_size, liblock_completions *completions,
                                                liblock_callback callback, void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_verify_async(liblock_context *context, liblock_lock lock,
                                                liblock_completions *completions, liblock_callback callback,
                                                void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_ping_async(liblock_context *context, liblock_completions *completions,
                                              liblock_callback callback, void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_inspect_async(liblock_context *context, const void *key, size_t key_size,
                                                 liblock_completions *completions, liblock_callback callback,
                                                 void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_force_release_async(liblock_context *context, const void *key, size_t key_size,
                                                       int32_t flags, liblock_completions *completions,
                                                       liblock_callback callback, void *user_data,
                                                       liblock_request *request);
/* liblock_wait_lost, _held and _released without a waiting thread. They end after wait_ms, or as CLOSED. Since 0.1. */
LIBLOCK_API liblock_status liblock_wait_lost_async(liblock_context *context, liblock_lock lock, int64_t wait_ms,
                                                   liblock_completions *completions, liblock_callback callback,
                                                   void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_wait_held_async(liblock_context *context, const void *key, size_t key_size,
                                                   int64_t wait_ms, liblock_completions *completions,
                                                   liblock_callback callback, void *user_data,
                                                   liblock_request *request);
LIBLOCK_API liblock_status liblock_wait_released_async(liblock_context *context, const void *key, size_t key_size,
                                                       int64_t wait_ms, liblock_completions *completions,
                                                       liblock_callback callback, void *user_data,
                                                       liblock_request *request);
/* liblock_read and _wait_held_on in the same way; the completion's info is the receiver's. Since 0.1. */
LIBLOCK_API liblock_status liblock_read_async(liblock_context *context, const void *key, size_t key_size, int32_t mode,
                                              const char *node, liblock_completions *completions,
                                              liblock_callback callback, void *user_data, liblock_request *request);
LIBLOCK_API liblock_status liblock_wait_held_on_async(liblock_context *context, const void *key, size_t key_size,
                                                      const char *node, int64_t wait_ms,
                                                      liblock_completions *completions, liblock_callback callback,
                                                      void *user_data, liblock_request *request);

/* Hands a lock to another process: *needed bytes, that liblock_adopt takes there, go into the buffer; renewal stops,
 * and the handle becomes NOT_HELD. What is left of the lease goes on. The bytes are a secret: whoever has them, has the
 * lock. Where size is too small nothing happens but that *needed is set: INVALID_ARGUMENT. Returns [OK, LOST, NOT_HELD,
 * INVALID_HANDLE, UNSUPPORTED: a local context, or other handles share the hold]. Since 0.1. */
LIBLOCK_API liblock_status liblock_export(liblock_context *context, liblock_lock lock, void *buffer, size_t size,
                                          size_t *needed);
/* Takes over a lock that was exported from a context with the same prefix on the same server. Of the options count
 * owner, ttl_ms, renew, max_hold_ms, on_lost and completions (losses); the lease is set anew. Returns [OK, LOST: it has
 * ended meanwhile or was adopted and released, UNSUPPORTED: a local context]. Since 0.1. */
LIBLOCK_API liblock_status liblock_adopt(liblock_context *context, const void *exported, size_t size,
                                         const liblock_acquire_options *options, liblock_lock *lock,
                                         liblock_result *result);

/* --------------------------------------------------------------------------------------------- inspection --- */

/* 1 or 0 into *locked: does somebody hold the key? Returns [OK; over a quorum also NO_QUORUM, QUARANTINED: nobody can
 * say]. Since 0.1. */
LIBLOCK_API liblock_status liblock_is_locked(liblock_context *context, const void *key, size_t key_size,
                                             int32_t *locked);
/* 1 or 0 into *queued: does somebody wait for the key? Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_is_queued(liblock_context *context, const void *key, size_t key_size,
                                             int32_t *queued);
/* Holder of a key. Free *info by liblock_info_free. Returns [OK, NOT_HELD]. Since 0.1. */
LIBLOCK_API liblock_status liblock_inspect(liblock_context *context, const void *key, size_t key_size,
                                           liblock_info **info, liblock_result *result);
/* Waiters of a key, in the order in which they will be served, and the holder if there is one. Returns [OK,
 * NOT_HELD when nobody holds or waits]. Since 0.1. */
LIBLOCK_API liblock_status liblock_inspect_queue(liblock_context *context, const void *key, size_t key_size,
                                                 liblock_info **info, liblock_result *result);

/* Getters: what is pointed at lives as long as the info. NULL infos and indices out of range answer NULL, 0 or -1.
 * Times of day are microseconds since 1970, on a server by its clock; 0 = not known. */
LIBLOCK_API const void *liblock_info_key(const liblock_info *info, size_t *size);
LIBLOCK_API int32_t liblock_info_is_global(const liblock_info *info); /* 1: the global lock; the key is empty */
LIBLOCK_API int32_t liblock_info_is_held(const liblock_info *info);
LIBLOCK_API const void *liblock_info_owner(const liblock_info *info, size_t *size);
LIBLOCK_API const void *liblock_info_instance(const liblock_info *info, size_t *size);
LIBLOCK_API const void *liblock_info_host(const liblock_info *info,
                                          size_t *size); /* where that instance runs */
LIBLOCK_API uint64_t liblock_info_token(const liblock_info *info);
/* When the hold began. Not known of a local lock that was granted without a lease and has no owner, value, metadata,
 * renewal, on_lost or second key: the shortest way asks no clock. */
LIBLOCK_API int64_t liblock_info_since_us(const liblock_info *info);
/* The lease that it was granted with (on a server the first one, where it is renewed; of a lock that was handed to a
 * waiter the short one that it began with, 3 s at most, though its whole ttl followed at once); -1 = no expiry, 0 = not
 * known (such as of a plain local lock that was extended). */
LIBLOCK_API int64_t liblock_info_initial_ttl_ms(const liblock_info *info);
LIBLOCK_API int64_t liblock_info_remaining_ms(const liblock_info *info); /* -1 = no expiry */
LIBLOCK_API uint32_t liblock_info_hold_count(const liblock_info *info); /* servers: more than 1 of own locks only */
/* 1: its context was closed with LEAVE; on a server: nobody listens for its instance now, though it has held the lock
 * for alive_ms (told by liblock_inspect and liblock_inspect_queue, not by lists). */
LIBLOCK_API int32_t liblock_info_is_zombie(const liblock_info *info);
LIBLOCK_API const void *liblock_info_value(const liblock_info *info, size_t *size);
LIBLOCK_API size_t liblock_info_metadata_count(const liblock_info *info);
LIBLOCK_API liblock_status liblock_info_metadata_at(const liblock_info *info, size_t index, liblock_metadata *out);
/* All waiters. On a server liblock_inspect_queue tells more of the first 65,536, over a quorum of the first 200, but
 * nothing of those in the line of another process (liblock_list_queues); lists tell their number alone. The index of a
 * waiter is its position: 0 is served next. */
LIBLOCK_API size_t liblock_info_waiter_count(const liblock_info *info);
LIBLOCK_API const void *liblock_info_waiter_owner(const liblock_info *info, size_t index, size_t *size);
LIBLOCK_API const void *liblock_info_waiter_instance(const liblock_info *info, size_t index, size_t *size);
LIBLOCK_API int64_t liblock_info_waiter_since_us(const liblock_info *info,
                                                 size_t index); /* when it was queued */
LIBLOCK_API int64_t liblock_info_waiter_waited_ms(const liblock_info *info, size_t index);
LIBLOCK_API int32_t liblock_info_waiter_order(const liblock_info *info, size_t index);
LIBLOCK_API int32_t liblock_info_waiter_priority(const liblock_info *info, size_t index);
LIBLOCK_API void liblock_info_free(liblock_info *info);

/* What a call that goes over many keys has counted. */
typedef struct liblock_report {
  size_t struct_size;
  uint64_t locks;     /* shown, or taken away */
  uint64_t queues;    /* shown, or from which somebody was sent away */
  uint64_t keys;      /* locks + queues */
  uint64_t waiters;   /* sent away; lists: 0 */
  uint64_t steps;     /* batches that it took */
  int64_t elapsed_us; /* that the library took; callbacks do not count */
  uint64_t instances; /* liblock_list_instances: shown; clear_dead: taken off the list of instances */
} liblock_report;
LIBLOCK_API void liblock_report_init(liblock_report *report, size_t struct_size);

typedef struct liblock_list_options {
  size_t struct_size;
  const void *key_prefix; /* only keys that begin with these bytes; NULL = all */
  size_t key_prefix_size;
  int64_t batch_size; /* keys looked at per step (servers: COUNT of SCAN); 1 to 65,536; default 500 */
  int32_t zombies_only; /* 1 = only keys whose holder's instance, or (queues) that of one who waits, is gone; 0 */
  int32_t reserved;     /* 0 */
} liblock_list_options;

LIBLOCK_API void liblock_list_options_init(liblock_list_options *options, size_t struct_size);
/* Lists the keys that are held, those that somebody waits for, or both together (keys: each once, held or not). The
 * table is read in small steps, in bounded memory: keys that come or go meanwhile may be missed; none is shown twice
 * (on a server: unless its table grows or shrinks meanwhile). On servers, waiters in the line of another process are
 * counted by liblock_inspect and liblock_list_keys, not listed or named: liblock_list_queues does not show a key that
 * only they wait for. Where every context has front_ms -1, it shows all. End by liblock_cursor_free. Returns [OK].
 * Since 0.1. */
LIBLOCK_API liblock_status liblock_list_locks(liblock_context *context, const liblock_list_options *options,
                                              liblock_cursor **cursor, liblock_result *result);
LIBLOCK_API liblock_status liblock_list_queues(liblock_context *context, const liblock_list_options *options,
                                               liblock_cursor **cursor, liblock_result *result);
LIBLOCK_API liblock_status liblock_list_keys(liblock_context *context, const liblock_list_options *options,
                                             liblock_cursor **cursor, liblock_result *result);
/* The next info, owned by the caller; *info is NULL at the end. On a server the listing is read page by page: a failure
 * on the way is told here, and the same call goes on from there. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_cursor_next(liblock_cursor *cursor, liblock_info **info);
/* Counts of what the cursor has shown so far. report->struct_size must be set. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_cursor_report(const liblock_cursor *cursor, liblock_report *report);
LIBLOCK_API void liblock_cursor_free(liblock_cursor *cursor);

enum { LIBLOCK_LIST_LOCKS = 0, LIBLOCK_LIST_QUEUES = 1, LIBLOCK_LIST_KEYS = 2 };
/* Shown one key: 0 = go on, all else ends the listing. Runs on the thread that lists, with no library lock held: it may
 * call the library. The info is borrowed until it returns. */
typedef int32_t (*liblock_list_callback)(const liblock_info *info, void *user_data);
/* The same lists as calls of the callback (NULL: counts only). The report (may be NULL; struct_size must be set) is
 * filled in also by a failing call. Returns [OK, also when the callback ended it]. Since 0.1. */
LIBLOCK_API liblock_status liblock_list_each(liblock_context *context, int32_t what,
                                             const liblock_list_options *options,
                                             liblock_list_callback callback, void *user_data,
                                             liblock_report *report, liblock_result *result);

/* Waits until the key is held by somebody, or until its present holder no longer holds it. Returns [OK, TIMEOUT,
 * NOT_HELD: wait_released of a key that nobody holds, WOULD_DEADLOCK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_wait_held(liblock_context *context, const void *key, size_t key_size,
                                             int64_t wait_ms, liblock_result *result);
LIBLOCK_API liblock_status liblock_wait_released(liblock_context *context, const void *key, size_t key_size,
                                                 int64_t wait_ms, liblock_result *result);
/* liblock_wait_held on one node of a quorum (node: its address or id; NULL = as wait_held, in any context): until that
 * node, or that observer, knows of the lock. *info (info may be NULL) is what it saw, with value and token, to be freed
 * by liblock_info_free; NULL where the lock was gone again. Returns [OK, TIMEOUT, UNSUPPORTED: a node's name in another
 * kind of context, WOULD_DEADLOCK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_wait_held_on(liblock_context *context, const void *key, size_t key_size,
                                                const char *node, int64_t wait_ms, liblock_info **info,
                                                liblock_result *result);

enum {
  LIBLOCK_READ_NEAREST = 0, /* the node or observer that answers fastest; may be old: decide nothing by it */
  LIBLOCK_READ_MASTER = 1,  /* the same, of the nodes that vote */
  LIBLOCK_READ_QUORUM = 2   /* what as many nodes as must vote agree on */
};
/* Who holds a key and with which value, of which nodes: with NEAREST and MASTER `node` (address or id) names the one to
 * ask, NULL = any; with QUORUM it is NULL. One server: liblock_inspect, whatever the mode. Free *info by
 * liblock_info_free. Returns [OK, NOT_HELD, NO_QUORUM: too few answers, or they do not agree: ask again, QUARANTINED,
 * CONNECT: the node named does not answer, UNSUPPORTED: a local context, or a node's name on one server]. Since 0.1. */
LIBLOCK_API liblock_status liblock_read(liblock_context *context, const void *key, size_t key_size, int32_t mode,
                                        const char *node, liblock_info **info, liblock_result *result);

/* ------------------------------------------------------------------------------------------------- quorum --- */

/* In other contexts these answer UNSUPPORTED. */

enum { LIBLOCK_QUORUM_INIT_FORCE = 1 };
/* Makes a quorum of the context's nodes, with its max_ttl_ms and votes: once for each set of servers, by a person or a
 * deployment, before the first lock. Every node must answer, and none may have voted, or be known to have been part of
 * a quorum before it lost its data; FORCE (a quorum whose locks nobody holds, or may hold any more) marks them anew all
 * the same. Contexts that are open need not be opened again. Returns [OK, NO_QUORUM: a node does not answer,
 * NODES_MISMATCH: one is part of a quorum, or was, the message says which, IN_DOUBT: some may be marked: once more,
 * with FORCE]. Since 0.1. */
LIBLOCK_API liblock_status liblock_quorum_init(liblock_context *context, int32_t flags, liblock_result *result);
LIBLOCK_API liblock_status liblock_quorum_init_async(liblock_context *context, int32_t flags,
                                                     liblock_completions *completions, liblock_callback callback,
                                                     void *user_data, liblock_request *request);
/* Gives the quorum of this context other nodes, observers or votes; other contexts hear of it from the nodes. Locks
 * stay held. servers NULL (counts 0): nodes and observers as they are, other votes alone. votes as in
 * liblock_context_options, of the new nodes. Takes longer than max_ttl_ms; where it ends on the way, the same call from
 * any context of the quorum takes it up again. Of different changes at once one is made; the others end as
 * NODES_MISMATCH, before they have changed anything. So does a new server that is another name of a node, or can be
 * none: INVALID_ARGUMENT. Returns [OK: the message names new nodes that do not answer, NO_QUORUM: too few of the old or
 * of the new nodes, NODES_MISMATCH: another change is under way, and the message names its nodes (call again when it
 * has ended, or with these where whoever made it is gone), or a new node is part of another quorum, LIMIT: this context
 * has known 30 servers, IN_DOUBT]. Since 0.1. */
LIBLOCK_API liblock_status liblock_quorum_set_nodes(liblock_context *context, const char *const *servers,
                                                    size_t server_count, const char *const *observers,
                                                    size_t observer_count, int32_t votes, liblock_result *result);
LIBLOCK_API liblock_status liblock_quorum_set_nodes_async(liblock_context *context, const char *const *servers,
                                                          size_t server_count, const char *const *observers,
                                                          size_t observer_count, int32_t votes,
                                                          liblock_completions *completions,
                                                          liblock_callback callback, void *user_data,
                                                          liblock_request *request);

enum {
  LIBLOCK_NODE_UP = 1,          /* it answers, and votes */
  LIBLOCK_NODE_DOWN = 2,        /* it does not answer */
  LIBLOCK_NODE_QUARANTINED = 3, /* it was restarted or is new: no vote for quarantine_left_ms */
  LIBLOCK_NODE_NEEDS_FLOOR = 4, /* after that: no vote until it knows the tokens that the others have given */
  LIBLOCK_NODE_STEPPED = 5,     /* its clock has moved: no vote for quarantine_left_ms in this context */
  LIBLOCK_NODE_REFUSED = 6      /* it is not what the url says: of another quorum, of none, a replica; why says which */
};

/* One node or observer, as it was when it answered last. Borrowed until the callback returns; texts end in NUL. */
typedef struct liblock_node {
  size_t struct_size;
  liblock_bytes address;      /* "redis://host:port/db" and the like, without user and password */
  liblock_bytes id;           /* of the node in its quorum; empty = not known yet */
  liblock_bytes why;          /* it does not vote: cause and cure, one line; empty = it does */
  int64_t quarantine_left_ms; /* 0 = none */
  int64_t round_trip_us;      /* of its last answer; -1 = none yet */
  int64_t clock_offset_ms;    /* its clock against this machine's: wall clocks, for people; 0 = not known */
  int64_t lag_ms;             /* observers: how far what it has was behind when last fed; -1 = not known, no observer */
  int32_t state;              /* LIBLOCK_NODE_… */
  int32_t is_observer;        /* 1 = never votes */
} liblock_node;

typedef struct liblock_quorum_state {
  size_t struct_size;
  uint64_t epoch;       /* how often it was configured; 0 = no node has said */
  int64_t max_ttl_ms;   /* of the quorum; 0 = no node has said */
  char cluster_id[40];  /* hexadecimal, NUL-terminated; empty = no node has said */
  char config_hash[40]; /* the same, of nodes and votes: equal where they are */
  uint32_t votes;       /* nodes that must grant */
  uint32_t nodes;       /* that could, whatever their state; not what the url names in vain */
  uint32_t up;          /* of these: answer */
  uint32_t voting;      /* of these: vote; 0 while none counts, since too few of the url's servers are of this quorum */
  uint32_t quarantined; /* of these: do not for now: QUARANTINED, NEEDS_FLOOR, STEPPED */
  uint32_t observers;
  int32_t configuring; /* 1 = a change of nodes is under way, and locks need votes of both sets */
  int32_t reserved;    /* 0 */
} liblock_quorum_state;
LIBLOCK_API void liblock_quorum_state_init(liblock_quorum_state *state, size_t struct_size);

/* Shown one node: 0 = go on, all else ends the list. Runs on the thread that asks, with no library lock held. */
typedef int32_t (*liblock_node_callback)(const liblock_node *node, void *user_data);
/* How the quorum and its nodes are, as this context has seen them last: asks no server, may be called in callbacks and
 * on loop threads. Shows the nodes in the order of the url, then the observers. state (may be NULL; struct_size must be
 * set) is the sum; callback NULL = no list. The result's message says what is wrong, and the cure. Returns [OK, also
 * when the callback ended it]. Since 0.1. */
LIBLOCK_API liblock_status liblock_quorum_status(liblock_context *context, liblock_quorum_state *state,
                                                 liblock_node_callback callback, void *user_data,
                                                 liblock_result *result);

/* ----------------------------------------------------------------------------------------- administration --- */

enum { LIBLOCK_DROP_QUEUE = 1 };
/* Takes a key away from whoever holds it: his handles become LOST, the next waiter runs. With DROP_QUEUE the waiters
 * end as DEQUEUED as well. The result's flags say whether there was a lock and a queue (on a server: a moment before),
 * queue_length how many waited, waited_ms what the call took. Returns [OK, NOT_HELD; over a quorum also PARTIAL: its
 * holder may have it still, call again when more nodes answer, IN_DOUBT, NO_QUORUM]. Since 0.1. */
LIBLOCK_API liblock_status liblock_force_release(liblock_context *context, const void *key, size_t key_size,
                                                 int32_t flags, liblock_result *result);

typedef struct liblock_clear_options {
  size_t struct_size;
  int64_t batch_size; /* keys per step (servers: per script call, 1,000 at most); 1 to 65,536; default 100 */
  int64_t scan_size;  /* keys looked at per step of the search (COUNT of SCAN); 1 to 65,536; default 500 */
  int64_t
      dead_ttl_ms; /* clear_dead: requests that wait for longer are dead; 1 and more; default 86,400,000 */
} liblock_clear_options;
LIBLOCK_API void liblock_clear_options_init(liblock_clear_options *options, size_t struct_size);
/* Takes all locks of the context's table or prefix away (global lock included) and dequeues all waiters, in batches:
 * holders are LOST, waiters DEQUEUED. What is acquired meanwhile may stay. Foreign clients' locks stay. NULL options =
 * all defaults; the report (may be NULL; struct_size must be set) is filled in also by a failing call. Returns [OK,
 * IN_DOUBT: a batch had no answer]. Since 0.1. */
LIBLOCK_API liblock_status liblock_clear(liblock_context *context, const liblock_clear_options *options,
                                         liblock_report *report, liblock_result *result);
/* The same for the locks and waiters of one owner, or one instance, by identity text: all others keep their places, and
 * the next of them runs. Returns as liblock_clear. Since 0.1. */
LIBLOCK_API liblock_status liblock_clear_owner(liblock_context *context, const void *owner_id, size_t size,
                                               const liblock_clear_options *options, liblock_report *report,
                                               liblock_result *result);
LIBLOCK_API liblock_status liblock_clear_instance(liblock_context *context, const void *instance_id,
                                                  size_t size, const liblock_clear_options *options,
                                                  liblock_report *report, liblock_result *result);
/* The same for zombies and for requests that have waited for longer than dead_ttl_ms. Zombies are locks left behind by
 * closed contexts; on a server, locks and waiters of instances that nobody listens for, neither now nor alive_ms later
 * (the call takes so long when there are any). Instances that are zombies go from liblock_list_instances. Returns as
 * liblock_clear. Since 0.1. */
LIBLOCK_API liblock_status liblock_clear_dead(liblock_context *context, const liblock_clear_options *options,
                                              liblock_report *report, liblock_result *result);
/* Looks for overdue locks now, as the periodic sweep does. *ended (may be NULL) counts them. Returns [OK]. */
LIBLOCK_API liblock_status liblock_sweep(liblock_context *context, uint64_t *ended, liblock_result *result);

/* One instance: a context that is open on the table; on a server, one that says every zombie_interval_ms that it lives,
 * from a second after it first connected until it is closed. Borrowed until the callback returns. */
typedef struct liblock_instance {
  size_t struct_size;
  liblock_bytes id;    /* as liblock_instance_id has it */
  liblock_bytes host;  /* what stands behind the '@' of its id */
  int64_t heard_us;    /* when it was last heard of: wall clock (of the server), since 1970 */
  int64_t silent_ms;   /* since then */
  int64_t interval_ms; /* its zombie_interval_ms; -1 = local contexts: they need not say that they live */
  int32_t listens;     /* 1 = its connection for messages is there, 0 = is not (it may need none), -1 = not known */
  int32_t is_zombie;   /* 1 = silent for four of its intervals and listens is 0; local: closed, and locks were left */
  int32_t is_self;     /* 1 = the context that lists */
  int32_t reserved;    /* 0 */
} liblock_instance;

typedef struct liblock_instance_list_options {
  size_t struct_size;
  int32_t zombies_only; /* 1 = only those that are; 0 (default) */
  int32_t reserved;     /* 0 */
} liblock_instance_list_options;
LIBLOCK_API void liblock_instance_list_options_init(liblock_instance_list_options *options, size_t struct_size);

/* Shown one instance: 0 = go on, all else ends the list. Runs on the thread that lists, with no library lock held. */
typedef int32_t (*liblock_instance_callback)(const liblock_instance *instance, void *user_data);
/* Shows the instances of the context's table or prefix, those first that are to count as silent first, 100 in a step.
 * One that says meanwhile that it lives may be shown twice. NULL options = all defaults, callback NULL = counts only;
 * the report (may be NULL; struct_size must be set) is filled in also by a failing call. Returns [OK, also when the
 * callback ended it, UNSUPPORTED: over a quorum, where nobody says that he lives and the locks of those who are gone
 * end by themselves within max_ttl_ms; they are shown by liblock_list_each with zombies_only]. Since 0.1. */
LIBLOCK_API liblock_status liblock_list_instances(liblock_context *context,
                                                  const liblock_instance_list_options *options,
                                                  liblock_instance_callback callback, void *user_data,
                                                  liblock_report *report, liblock_result *result);

/* What this context does about zombies in the background. On a server: every zombie_interval_ms it says that it lives,
 * and hears which instances are zombies; one of those that hear it flushes their locks and waiters when they are still
 * zombies alive_ms later. Local contexts: nothing, enabled is 0 (only LEAVE leaves zombies there, and it means to). */
typedef struct liblock_zombies_status {
  size_t struct_size;
  int32_t enabled;     /* 1 = zombie_interval_ms is not -1 */
  int32_t flushing;    /* 1 = a flush by this context is under way */
  int64_t interval_ms; /* -1 = not enabled */
  int64_t last_run_us; /* when it last said that it lives: wall clock of the server, since 1970; 0 = not yet */
  uint64_t runs;       /* how often */
  uint64_t flushes;    /* that came to their end; of those until now: */
  uint64_t instances;
  uint64_t locks;
  uint64_t waiters;
  int64_t last_failure_us; /* wall clock, since 1970; 0 = none */
  liblock_status last_failure; /* OK = none */
  int32_t reserved;            /* 0 */
} liblock_zombies_status;
LIBLOCK_API void liblock_zombies_status_init(liblock_zombies_status *status, size_t struct_size);
/* Asks no server. status->struct_size must be set. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_zombies_status_get(liblock_context *context, liblock_zombies_status *status);

/* Counters of the table since it was made, and present sizes. */
typedef struct liblock_stats {
  size_t struct_size;
  uint64_t locks_held; /* keys; the global lock is one */
  uint64_t waiters;
  uint64_t acquired;             /* grants, reentries included */
  uint64_t released;             /* by the holder */
  uint64_t contended;            /* acquires that had to queue */
  uint64_t handed_off;           /* grants made directly to a waiter */
  uint64_t expired;              /* leases that ended while held */
  uint64_t taken_away;           /* by force_release and clear */
  uint64_t taken_over;           /* overdue locks ended by whoever wanted the key, not by a sweep */
  uint64_t timeouts;             /* TIMEOUT and RETRIES_EXHAUSTED */
  uint64_t canceled;             /* CANCELED */
  uint64_t deadlocks;            /* cycles found */
  uint64_t deadlock_searches;
  uint64_t renewals;
  uint64_t sweeps;               /* whole passes */
  uint64_t sweep_entries;        /* entries looked at */
  uint64_t sweep_entries_per_hold_max; /* most entries looked at while one shard was held */
  uint64_t dropped_notices;      /* (this context) losses that found their completion queue full */
  uint64_t dropped_events;       /* (this context) events that found events_max others waiting to be delivered */
  uint64_t passed_on;            /* of handed_off, those that no server was asked for (front_ms) */
} liblock_stats;

LIBLOCK_API void liblock_stats_init(liblock_stats *stats, size_t struct_size);
/* The counters and sizes as they are now; asks no server. stats->struct_size must be set. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_stats_get(liblock_context *context, liblock_stats *stats);

/* --------------------------------------------------------------------------------------- instrumentation --- */

/* What is listened to from here on costs nothing while nobody listens; docs/events.md says what it costs then. An
 * acquire is told about whole or not at all: that is decided when it begins, by who listens then and by sampling, for
 * it and for its lock. Administration and the server are told about always. */

/* Tells a callback of events from now on: mask has bit n for kind n (~0 = all), callback NULL = none any more. They
 * come as all callbacks do, those of one lock in their order. What was emitted before may still come; after the end
 * of liblock_close none is emitted. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_set_events(liblock_context *context, uint64_t mask, liblock_event_callback callback,
                                              void *user_data);

/* Writes entries of this level (LIBLOCK_LOG_ERROR to DEBUG) and below to a callback from now on; LIBLOCK_LOG_OFF or
 * callback NULL = none any more. The callback runs on whatever thread the entry comes from, several at once, with no
 * library lock held: it must be quick, must not block, and writes nothing for what it calls itself. That thread may be
 * inside any call of the library, also one that does not wait, so that the callback must take no lock of yours that is
 * held around such calls. The same goes for samplers and backoff_callback. It may still run
 * on another thread when this call returns; not when liblock_close has returned, but for a thread that is inside a
 * call of this context. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_set_log(liblock_context *context, int32_t level, liblock_log_callback callback,
                                           void *user_data);

typedef struct liblock_instrument_options {
  size_t struct_size;
  int32_t events_percent;         /* of the acquires, that are told about in events; 0 to 100 (default) */
  int32_t log_percent;            /* the same of the log */
  liblock_sampler events_sampler; /* decides instead of chance; NULL = none */
  void *events_sampler_user_data;
  liblock_sampler log_sampler; /* the same of the log */
  void *log_sampler_user_data;
  int64_t events_max;   /* events that wait to be delivered; one more is dropped and counted; 65,536; 1 to 1,048,576 */
  int32_t log_attempts; /* 1 = log each step of each attempt; 0 (default) */
  int32_t histograms;   /* 1 = measure every acquire and hold of this context; 0 (default) */
} liblock_instrument_options;

LIBLOCK_API void liblock_instrument_options_init(liblock_instrument_options *options, size_t struct_size);
/* Sampling, and what is measured, for the acquires that begin from now on. NULL = all defaults. Returns [OK].
 * Since 0.1. */
LIBLOCK_API liblock_status liblock_set_instruments(liblock_context *context,
                                                   const liblock_instrument_options *options);

enum { LIBLOCK_HISTOGRAM_ACQUIRE = 1, LIBLOCK_HISTOGRAM_HOLD = 2 };
enum { LIBLOCK_HISTOGRAM_BUCKETS = 40 };
/* How many of the measured durations were so long. Bucket n counts those above 2^(n-1) and up to 2^n microseconds; the
 * first also 0, the last everything longer. */
typedef struct liblock_histogram {
  size_t struct_size;
  uint64_t count;
  uint64_t sum_us;
  uint64_t buckets[LIBLOCK_HISTOGRAM_BUCKETS];
} liblock_histogram;

LIBLOCK_API void liblock_histogram_init(liblock_histogram *histogram, size_t struct_size);
/* HISTOGRAM_ACQUIRE: from the call to the grant, of granted acquires; HISTOGRAM_HOLD: from the grant to its end. Of
 * this context, while histograms was 1. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_histogram_get(liblock_context *context, int32_t which,
                                                 liblock_histogram *histogram);
/* The statistics and both histograms in Prometheus' text format, each line with the context's instance as label.
 * Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_stats_prometheus(liblock_context *context, char *buffer, size_t size,
                                                    size_t *needed);

/* "OBTAINED" for LIBLOCK_EVENT_OBTAINED; "UNKNOWN" for a number that is no kind. Static storage. Since 0.1. */
LIBLOCK_API const char *liblock_event_name(int32_t kind);

/* ------------------------------------------------------------------------------------- completion queues --- */

/* Opens a queue in which ends of requests can be read instead of being called back. capacity: 1 to 1,048,576 entries;
 * a request reserves its place when it is made (LIMIT when full); notices that find it full are dropped and counted.
 * Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_completions_open(liblock_context *context, size_t capacity,
                                                    liblock_completions **completions, liblock_result *result);
/* A descriptor that polls readable while the queue is not empty; never read or close it. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_completions_fd(liblock_completions *completions, int32_t *fd);
/* Takes the next entry, waiting up to wait_ms (-1 = for ever, 0 = not at all). completion->struct_size must be set.
 * A closed context ends its requests and leaves its queues open, so that these ends can be read: whoever waits for more
 * goes on until liblock_completions_close. Returns [OK, TIMEOUT, CLOSED: closed and empty, WOULD_DEADLOCK]. Since
 * 0.1. */
LIBLOCK_API liblock_status liblock_completions_next(liblock_completions *completions, int64_t wait_ms,
                                                    liblock_completion *completion);
/* No new requests; what is pending still arrives and can be read. Wakes those who wait. Returns [OK]. Since 0.1. */
LIBLOCK_API liblock_status liblock_completions_close(liblock_completions *completions);
/* Frees the queue; what still comes is dropped. Locks granted to it unread are released, those that come to it later by
 * the thread that callbacks run on, soon after. Since 0.1. */
LIBLOCK_API void liblock_completions_free(liblock_completions *completions);

#ifdef __cplusplus
}
#endif

#endif
