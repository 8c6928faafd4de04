// SPDX-License-Identifier: MIT
// Options of a context.

package liblock

// #include "bridge.h"
import "C"

import (
	"time"

	"liblock.dev/go/internal/raw"
)

// Option changes what a context is like. Those marked (table) must be the same in all contexts of one `local:NAME`.
type Option func(*openOptions)

type openOptions struct {
	raw.Open
	prefix                            *string
	onOpen                            func()
	username, password, clientName    *string
	tlsCAFile, tlsCAPath              *string
	tlsCertificate, tlsKey, tlsServer *string
	servers, observers                []string
	capacity                          int
}

// What Close does with the locks that are held.
const (
	CloseReleases = C.LIBLOCK_ON_CLOSE_RELEASE
	CloseLeaves   = C.LIBLOCK_ON_CLOSE_LEAVE
)

// Prefix is put before every key (table): 0 to 256 bytes; local "", servers "liblock:".
func Prefix(prefix string) Option { return func(o *openOptions) { o.prefix = &prefix } }

// OnOpen is called once per table, by the Open that makes the table, before it returns.
func OnOpen(call func()) Option { return func(o *openOptions) { o.onOpen = call } }

// Cleanup is the time between sweeps for overdue locks (table; local 300 s; Forever = off) and how many entries are
// looked at in a step (1 to 65,536; 0: the default of 100).
func Cleanup(interval time.Duration, batch int64) Option {
	return func(o *openOptions) {
		o.CleanupIntervalMs = toMs(interval)
		if batch != 0 {
			o.CleanupBatchSize = batch
		}
	}
}

// MaxTTL is the longest ttl accepted (table); local: no bound; one server 24 h; a quorum 60 s.
func MaxTTL(ttl time.Duration) Option { return func(o *openOptions) { o.MaxTTLMs = toMs(ttl) } }

// DeadlockDetection turns the search for cycles of owners on (the default) or off, and says after how long a wait it
// begins (table; local 1 ms, servers 100 ms).
func DeadlockDetection(on bool, delay time.Duration) Option {
	return func(o *openOptions) {
		o.Open.DeadlockDetection, o.DeadlockDelayMs = 0, toMs(delay)
		if on {
			o.Open.DeadlockDetection = 1
		}
	}
}

// Limits bounds keys held, requests waiting (both table) and asynchronous requests pending at once; 0 leaves the
// default.
func Limits(locks, waiters, requests int64) Option {
	return func(o *openOptions) {
		if locks != 0 {
			o.LocksMax = locks
		}
		if waiters != 0 {
			o.WaitersMax = waiters
		}
		if requests != 0 {
			o.RequestsMax = requests
		}
	}
}

// OnClose is CloseReleases (the default), or CloseLeaves: leases run out by themselves.
func OnClose(what int32) Option { return func(o *openOptions) { o.Open.OnClose = what } }

// Credentials are used instead of those in the url.
func Credentials(username, password string) Option {
	return func(o *openOptions) { o.username, o.password = &username, &password }
}

// ClientName is what the server shows of the connection (CLIENT SETNAME); "" = none.
func ClientName(name string) Option { return func(o *openOptions) { o.clientName = &name } }

// Timeouts bound connecting, one answer of the server, and the silence after which a waiter counts as dead; 0 leaves
// the defaults of 1 s, 1 s (a node of a quorum 200 ms) and 3 s.
func Timeouts(connect, command, alive time.Duration) Option {
	return func(o *openOptions) {
		setMs(&o.ConnectTimeoutMs, connect)
		setMs(&o.CommandTimeoutMs, command)
		setMs(&o.AliveMs, alive)
	}
}

func setMs(option *int64, d time.Duration) {
	if d != 0 {
		*option = toMs(d)
	}
}

// TLS says whom to trust (PEM file or directory; "" = the system's list), who we are, and which name to expect.
func TLS(caFile, caPath, certificateFile, keyFile, serverName string) Option {
	return func(o *openOptions) {
		o.tlsCAFile, o.tlsCAPath = given(caFile), given(caPath)
		o.tlsCertificate, o.tlsKey, o.tlsServer = given(certificateFile), given(keyFile), given(serverName)
	}
}

// TLSInsecure takes any certificate: anybody in between can be the server.
func TLSInsecure() Option { return func(o *openOptions) { o.Open.TLSInsecure = 1 } }

// ForeignGap: a release with waiters leaves the key free for clients of other libraries so often at most; 0 = each
// time, Forever = never.
func ForeignGap(gap time.Duration) Option { return func(o *openOptions) { o.ForeignGapMs = toMs(gap) } }

// Front: on one server a lock goes from hand to hand within this context, without a round trip, while nobody else is
// known to wait, and for so long after that; 0 is the default, Forever = never.
func Front(budget time.Duration) Option { return func(o *openOptions) { o.FrontMs = toMs(budget) } }

// ZombieInterval is the time between two signs of life; Forever = gives none.
func ZombieInterval(interval time.Duration) Option {
	return func(o *openOptions) { o.ZombieIntervalMs = toMs(interval) }
}

// Servers are the nodes of a quorum, and servers that are told of every lock and never vote; the url is then "".
func Servers(servers, observers []string) Option {
	return func(o *openOptions) { o.servers, o.observers = servers, observers }
}

// Votes is how many nodes of a quorum must grant: more than half, or AllVotes; 0 = a majority.
func Votes(votes int32) Option { return func(o *openOptions) { o.Open.Votes = votes } }

// ClockStep: a node of a quorum whose clock moves so far gives no vote for the longest ttl.
func ClockStep(step time.Duration) Option { return func(o *openOptions) { o.ClockStepMs = toMs(step) } }

// TrustFsync: every node of the quorum says "appendfsync always", so that one that still has its marker after a
// restart has lost nothing. Every context of the quorum must say the same.
func TrustFsync() Option {
	return func(o *openOptions) { o.RestartPolicy = C.LIBLOCK_RESTART_TRUST_FSYNC }
}

const capacityMax = 1 << 20

// Capacity is how many goroutines can wait in this context at once: 1 to 1,048,576, which is the default.
func Capacity(requests int) Option { return func(o *openOptions) { o.capacity = requests } }

// RawOpen sets options as plain numbers; for the conformance runner of this module.
func RawOpen(set func(*raw.Open)) Option { return func(o *openOptions) { set(&o.Open) } }

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

var openDefaults = func() raw.Open {
	var o C.liblock_context_options
	C.liblock_context_options_init(&o, C.sizeof_liblock_context_options)
	return raw.Open{
		CleanupIntervalMs: int64(o.cleanup_interval_ms), CleanupBatchSize: int64(o.cleanup_batch_size),
		MaxTTLMs: int64(o.max_ttl_ms), DeadlockDetection: int64(o.deadlock_detection),
		DeadlockDelayMs: int64(o.deadlock_delay_ms), LocksMax: int64(o.locks_max), WaitersMax: int64(o.waiters_max),
		RequestsMax: int64(o.requests_max), ConnectTimeoutMs: int64(o.connect_timeout_ms),
		CommandTimeoutMs: int64(o.command_timeout_ms), AliveMs: int64(o.alive_ms),
		ForeignGapMs: int64(o.foreign_gap_ms), ZombieIntervalMs: int64(o.zombie_interval_ms),
		ClockStepMs: int64(o.clock_step_ms), OnClose: int32(o.on_close), TLSInsecure: int32(o.tls_insecure),
		Votes: int32(o.votes), RestartPolicy: int32(o.restart_policy), FrontMs: int64(o.front_ms),
	}
}()

func (o *openOptions) native(a *arena) *C.liblock_context_options {
	n := (*C.liblock_context_options)(a.get(C.sizeof_liblock_context_options))
	C.liblock_context_options_init(n, C.sizeof_liblock_context_options)
	n.cleanup_interval_ms, n.cleanup_batch_size = C.int64_t(o.CleanupIntervalMs), C.int64_t(o.CleanupBatchSize)
	n.max_ttl_ms, n.deadlock_detection = C.int64_t(o.MaxTTLMs), C.int64_t(o.Open.DeadlockDetection)
	n.deadlock_delay_ms, n.locks_max = C.int64_t(o.DeadlockDelayMs), C.int64_t(o.LocksMax)
	n.waiters_max, n.requests_max = C.int64_t(o.WaitersMax), C.int64_t(o.RequestsMax)
	n.connect_timeout_ms, n.command_timeout_ms = C.int64_t(o.ConnectTimeoutMs), C.int64_t(o.CommandTimeoutMs)
	n.alive_ms, n.foreign_gap_ms = C.int64_t(o.AliveMs), C.int64_t(o.ForeignGapMs)
	n.zombie_interval_ms, n.clock_step_ms = C.int64_t(o.ZombieIntervalMs), C.int64_t(o.ClockStepMs)
	n.on_close, n.tls_insecure = C.int32_t(o.Open.OnClose), C.int32_t(o.Open.TLSInsecure)
	n.votes, n.restart_policy = C.int32_t(o.Open.Votes), C.int32_t(o.RestartPolicy)
	n.front_ms = C.int64_t(o.FrontMs)
	if o.prefix != nil {
		prefix := a.bytes(*o.prefix)
		n.prefix, n.prefix_size = prefix.data, prefix.size
	}
	texts := map[**C.char]*string{
		&n.username: o.username, &n.password: o.password, &n.client_name: o.clientName, &n.tls_ca_file: o.tlsCAFile,
		&n.tls_ca_path: o.tlsCAPath, &n.tls_certificate_file: o.tlsCertificate, &n.tls_key_file: o.tlsKey,
		&n.tls_server_name: o.tlsServer,
	}
	for field, text := range texts {
		if text != nil {
			*field = a.text(*text)
		}
	}
	n.servers, n.server_count = a.texts(o.servers), C.size_t(len(o.servers))
	n.observers, n.observer_count = a.texts(o.observers), C.size_t(len(o.observers))
	return n
}
