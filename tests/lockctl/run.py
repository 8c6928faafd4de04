#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockctl run: one command at a time, and none that outlives its lock. Usage: run.py LOCKCTL [PART OF A NAME]. TAP."""
import json
import os
import signal
import sys
import time

from tool import (PATIENCE, SLOW, Folder, Running, Server, environment, eventually, held, is_alive, is_held, lockctl,
                  main, program_of, queue_of, same, state_of, test, waiting)

# Writes the time again and again; a SIGTERM does not impress it.
STUBBORN = """trap '' TERM
echo $$ >%(pid)s.new; mv %(pid)s.new %(pid)s
while :; do date +%%s%%N >%(beat)s.new; mv %(beat)s.new %(beat)s; sleep 0.02; done"""


def shell(text, folder):
    """A command that is a shell's, with the folder's files by their names."""
    return ["--", "sh", "-c", text % {name: folder.file(name) for name in ("pid", "beat", "out", "other")}]


@test
def a_command_that_does_not_exist_is_127_and_one_that_cannot_run_126_and_neither_keeps_the_lock():
    with Server() as server:
        done = lockctl("run", "k", "--", "no-such-command", url=server.url, code=127)
        same("no-such-command cannot be run: No such file" in done.err, True)
        lockctl("run", "k", "--", "/etc/passwd", url=server.url, code=126)
        same(is_held(server, "k"), False)


@test
def a_server_that_is_not_there_is_69_and_the_command_does_not_run():
    with Folder() as folder:
        done = lockctl("run", "k", *shell("echo ran >%(out)s", folder), url="redis://127.0.0.1:1", code=69)
        same((folder.text("out"), "connection refused; is a server running" in done.err), ("", True))
        done = lockctl("run", "k", "--", "true", url=f"unix://{folder.path}/none", code=69)
        same("no such file or directory; is a server running" in done.err, True)


@test
def a_wrong_password_is_77_and_a_key_that_is_no_lock_78():
    with Server("--requirepass", "right") as server:
        lockctl("run", "k", "--", "true", url=server.url, env={"LIBLOCK_PASSWORD": "wrong"}, code=77)
        lockctl("run", "k", "--", "true", url=server.url, env={"LIBLOCK_PASSWORD": "right"})
    with Server() as server:
        server.call("LPUSH", "liblock:k", "x")
        lockctl("run", "k", "--", "true", url=server.url, code=78)


@test
def what_is_wrong_in_a_request_is_64_and_the_value_is_named():
    with Server() as server:
        for words, cause in ((["--ttl", "5ms", "k"], "--ttl (ttl_ms) is 5; use 20 to "), ([""], "KEY: it is empty"),
                             (["k" * 513], "KEY: it has 513 bytes"),
                             (["--max-hold", "5ms", "k"], "--max-hold: '5ms' is out of range"),
                             (["--value", "v" * 4097, "k"], "the size of --value is 4097; use 0 to 4096"),
                             (["--order", "priority", "--priority", "2000000", "k"], "--priority: '2000000' is no ")):
            done = lockctl("run", *words, "--", "true", url=server.url, code=64)
            same((cause in done.err, "LIBLOCK_" in done.err), (True, False))
        same(server.locks(), [])
        for words in (["--ttl", "30", "k"], ["--wait", "soon", "k"], ["--order", "random", "k"],
                      ["--grace", "-1s", "k"]):
            done = lockctl("run", *words, "--", "true", url=server.url, code=64)
            same(done.err.startswith("lockctl: "), True)
        same("lockctl run KEY -- COMMAND" in lockctl("run", "k", url=server.url, code=64).err, True)


@test
def a_key_that_is_held_is_75_at_once_or_after_the_wait_and_says_who_holds_it():
    with Server() as server, held(server.url, "k") as holder:
        pid = f"{holder.process.pid}-"
        for words in (["--no-wait"], ["--wait", "0"], ["--wait", "200ms"]):
            done = lockctl("run", *words, "k", "--", "true", url=server.url, code=75)
            same(f"held by {pid}" in done.err and "lockctl:sleep" in done.err, True)
        said = json.loads(lockctl("run", "-n", "--json", "k", "--", "true", url=server.url, code=75).err)
        same((said["error"], said["exit"]), ("BUSY", 75))


@test
def of_two_shells_one_waits_until_the_other_has_ended():
    with Server() as server, Folder() as folder:
        script = "echo in-$0 >>%(out)s; until [ -e %(other)s ]; do sleep 0.01; done; echo out-$0 >>%(out)s"
        with Running("run", "k", *shell(script, folder), "a", url=server.url) as first:
            assert eventually(lambda: "in-a" in folder.text("out"), 20)
            with Running("run", "k", *shell(script, folder), "b", url=server.url) as second:
                assert eventually(lambda: len(queue_of(server.url, "k")) == 1, 20)
                same(folder.text("out").split(), ["in-a"])
                open(folder.file("other"), "w").close()
                same((first.done().code, second.done().code), (0, 0))
        same(folder.text("out").split(), ["in-a", "out-a", "in-b", "out-b"])


@test
def the_order_is_the_one_asked_for():
    with Server() as server, Folder() as folder:
        with held(server.url, "k") as holder:
            script = shell("echo $0 >>%(out)s", folder)
            with waiting_for(server.url, ["--order", "priority", "--priority", "1"], script, "low", 1) as low, \
                    waiting_for(server.url, ["--order", "priority", "--priority", "9"], script, "high", 2) as high:
                same([one["priority"] for one in queue_of(server.url, "k")], [9, 1])
                holder.signal(signal.SIGTERM)
                same((low.done().code, high.done().code), (0, 0))
        same(folder.text("out").split(), ["high", "low"])


def waiting_for(url, options, script, name, place):
    running = Running("run", *options, "k", *script, name, url=url)
    assert eventually(lambda: len(queue_of(url, "k")) == place, 20)
    return running


@test
def the_command_finds_key_token_and_deadline_and_its_exit_code_comes_back():
    with Server() as server, Folder() as folder:
        script = "echo $LIBLOCK_KEY,$LIBLOCK_TOKEN,$LIBLOCK_DEADLINE_MS >%(out)s; exit 7"
        tokens = []
        for _ in range(2):
            before = time.time() * 1000
            lockctl("run", "--ttl", "20s", "a key", *shell(script, folder), url=server.url, code=7)
            key, token, deadline = folder.text("out").strip().split(",")
            tokens.append(int(token))
            same(key, "a key")
            # Not before a lease from now, and not after one from the end.
            assert before < int(deadline) <= time.time() * 1000 + 20000, (before, deadline)
        assert tokens[0] < tokens[1], tokens
        same(is_held(server, "a key"), False)


@test
def a_signal_that_ends_the_command_is_128_and_its_number():
    with Server() as server:
        lockctl("run", "k", "--", "sh", "-c", "kill -9 $$", url=server.url, code=137)
        same(is_held(server, "k"), False)


@test
def input_and_output_are_the_commands():
    with Server() as server:
        read, write = os.pipe()
        os.write(write, b"hello\n")
        os.close(write)
        with Running("run", "k", "--", "sh", "-c", "cat; echo wrong >&2", url=server.url, stdin=read) as running:
            done = running.done()
        os.close(read)
        same((done.code, done.out, done.err), (0, "hello\n", "wrong\n"))


@test
def the_command_has_no_signal_blocked_and_no_descriptor_of_lockctl():
    with Server() as server:
        script = "grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd | wc -l"
        done = lockctl("run", "k", "--", "sh", "-c", script, url=server.url)
        plain = [line.split()[-1] for line in done.out.splitlines()]
        same((plain[0], plain[2]), ("0" * 16, "4"))  # three, and the one that ls reads the folder by


@test
def signals_are_forwarded_to_the_command_and_its_own_answer_counts():
    with Server() as server, Folder() as folder:
        for name in ("HUP", "INT", "TERM", "USR1", "USR2"):
            script = f"trap 'echo {name} >>%(out)s; exit 3' {name}; echo $$ >%(pid)s; while :; do sleep 0.01; done"
            with Running("run", "k", *shell(script, folder), url=server.url) as running:
                folder.number("pid")
                running.signal(getattr(signal, f"SIG{name}"))
                same(running.done().code, 3)
            os.unlink(folder.file("pid"))
        same(folder.text("out").split(), ["HUP", "INT", "TERM", "USR1", "USR2"])


@test
def a_signal_while_it_waits_ends_the_wait_and_leaves_the_queue():
    with Server() as server, held(server.url, "k"), Folder() as folder:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Running("run", "k", *shell("echo ran >%(out)s", folder), url=server.url) as running:
                assert eventually(lambda: len(queue_of(server.url, "k")) == 1, 20)
                running.signal(number)
                # A shell has 130 for both; who ends by the interrupt itself ends the shell's loop as well.
                same(running.done().code, -number if number == signal.SIGINT else 128 + number)
            same((queue_of(server.url, "k"), folder.text("out")), ([], ""))


@test
def who_is_started_with_the_end_of_children_ignored_sees_the_command_end_and_has_its_exit_code():
    with Server() as server:
        for script, code in (("exit 7", 7), ("kill -9 $$", 137)):
            with Running("run", "k", "--", "sh", "-c", script, url=server.url,
                         through=("env", "--ignore-signal=CHLD")) as running:
                same((running.done().code, is_held(server, "k")), (code, False))


@test
def a_command_that_is_stopped_alone_keeps_its_lock_and_goes_on_with_it():
    with Server() as server, Folder() as folder, \
            Running("run", "--ttl", "1s", "k", *shell(STUBBORN, folder), url=server.url) as running:
        pid = folder.number("pid")
        os.kill(pid, signal.SIGSTOP)
        assert eventually(lambda: state_of(pid) == "T", 20)
        time.sleep(2.5)  # it would be gone by now
        same((state_of(running.process.pid) == "T", is_held(server, "k")), (False, True))
        stopped = folder.text("beat")
        os.kill(pid, signal.SIGCONT)
        assert eventually(lambda: folder.text("beat") != stopped, 20)
        same((running.is_running(), is_held(server, "k")), (True, True))


@test
def a_signal_that_was_ignored_at_the_start_is_ignored_while_it_waits_and_by_the_command():
    ignoring = ("env", "--ignore-signal=HUP,INT,QUIT,TERM")
    with Server() as server, held(server.url, "k") as holder, Folder() as folder, \
            Running("run", "k", *shell("echo $$ >%(pid)s; until [ -e %(other)s ]; do sleep 0.01; done; exit 5", folder),
                    url=server.url, through=ignoring) as running:
        assert eventually(lambda: len(queue_of(server.url, "k")) == 1, 20)
        ignored = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
        for number in ignored:
            running.signal(number)
        time.sleep(0.3 * SLOW)
        same((running.is_running(), len(queue_of(server.url, "k"))), (True, 1))
        holder.signal(signal.SIGTERM)
        pid = folder.number("pid")
        for number in ignored:
            running.signal(number)
            os.kill(pid, number)
        open(folder.file("other"), "w").close()
        same(running.done().code, 5)


@test
def top_ignores_what_was_ignored_at_its_start():
    with Server() as server, Running("top", "--json", "--interval", "50ms", url=server.url,
                                     through=("env", "--ignore-signal=HUP,INT")) as running:
        running.line()
        for number in (signal.SIGHUP, signal.SIGINT):
            running.signal(number)
        for _ in range(5):
            running.line()
        running.signal(signal.SIGTERM)
        same(running.done().code, 0)


@test
def a_command_that_the_interrupt_ends_ends_lockctl_by_it_and_one_that_answers_it_does_not():
    with Server() as server, Folder() as folder:
        sleeps = "ulimit -c 0; echo $$ >%(pid)s; exec sleep 1000"
        answers = "trap 'exit 130' INT; echo $$ >%(pid)s; while :; do sleep 0.01; done"
        for number, script, code in ((signal.SIGINT, sleeps, -signal.SIGINT), (signal.SIGQUIT, sleeps, -signal.SIGQUIT),
                                     (signal.SIGTERM, sleeps, 143), (signal.SIGINT, answers, 130)):
            with Running("run", "k", *shell(script, folder), url=server.url) as running:
                pid = folder.number("pid")
                # A shell that is about to start a program loses the interrupt.
                assert script == answers or eventually(lambda: program_of(pid) == "sleep", 20)
                running.signal(number)
                same((running.done().code, is_held(server, "k")), (code, False))
            os.unlink(folder.file("pid"))


@test
def a_command_that_may_not_be_sent_signals_is_told_of_once():
    if os.geteuid() != 0:
        return  # nobody else can be both lockctl and another user
    weak = ("setpriv", "--bounding-set=-kill", "--inh-caps=-kill")
    other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with Server() as server, Running("run", "--grace", "0", "k", "--", *other, "sh", "-c", "echo here; sleep 3",
                                     url=server.url, through=weak) as running:
        same(running.line(), "here\n")
        for _ in range(3):
            running.signal(signal.SIGUSR1)
            time.sleep(0.05)
        lockctl("release", "--force", "--yes", "k", url=server.url)
        done = running.done()
        same((done.code, done.err.count("runs as another user"), "sudo lockctl run" in done.err), (79, 1, True))


@test
def with_standard_descriptors_closed_its_messages_do_not_become_the_commands_environment():
    with Server() as server, Folder() as folder:
        for closed in ("<&- >&- 2>&-", "<&- 2>&-", ">&- 2>&-", "<&- >&-"):
            script = f'exec "$@" {closed}'
            with Running("run", "--json", "k", *shell("echo $LIBLOCK_KEY >%(out)s; exit 4", folder), url=server.url,
                         through=("sh", "-c", script, "sh")) as running:
                same((running.done().code, folder.text("out")), (4, "k\n"))
            os.unlink(folder.file("out"))
        with Running("ls", "--count", url=server.url, through=("sh", "-c", 'exec "$@" >&-', "sh")) as running:
            same(running.done().code, 71)  # its answer has not been told


@test
def the_lease_is_renewed_while_the_command_runs():
    with Server() as server:
        done = lockctl("run", "--ttl", "300ms", "k", "--", "sleep", "1.5", url=server.url)
        same((done.err, is_held(server, "k")), ("", False))


@test
def without_renewal_the_command_ends_before_its_lease():
    with Server() as server, Folder() as folder:
        for words in (["--ttl", "1s", "--no-renew"], ["--ttl", "500ms", "--max-hold", "1s"]):
            done = lockctl("run", *words, "k", *shell(STUBBORN, folder), url=server.url, code=79)
            wish = [word for word in words if word in ("--no-renew", "--max-hold")][0]
            assert f"ends and is not renewed ({wish}); the command is ended" in done.err, done
            same(is_alive(folder.number("pid")), False)
            os.unlink(folder.file("pid"))


@test
def a_lease_that_ended_by_time_leaves_the_command_no_grace():
    for words, wish in ((["--max-hold", "50ms"], "--max-hold"), (["--ttl", "50ms", "--no-renew"], "--no-renew")):
        for _ in range(4):
            with Server() as server, Folder() as folder:
                began = time.monotonic()
                done = lockctl("run", "--grace", "30s", *words, "k", *shell(STUBBORN, folder), url=server.url, code=79)
                assert time.monotonic() - began < 20, done
                same(f"ends and is not renewed ({wish}); the command is ended" in done.err, True)


@test
def who_was_stopped_for_longer_than_the_lease_kills_the_command_at_once():
    with Server() as server, Folder() as folder, \
            Running("run", "--ttl", "1s", "--grace", "30s", "k", *shell(STUBBORN, folder), url=server.url) as running:
        pid = folder.number("pid")
        running.signal(signal.SIGSTOP)
        assert eventually(lambda: not is_held(server, "k"), 20)
        began = time.monotonic()
        running.signal(signal.SIGCONT)
        done = running.done()
        assert time.monotonic() - began < 20, done
        same((done.code, is_alive(pid)), (79, False))
        same("k: the lock ends and is not renewed; the command is ended (SIGKILL)" in done.err, True)


@test
def a_server_that_is_killed_ends_the_command_within_the_lease_also_a_stubborn_one():
    ttl = 2.0 * SLOW
    for script in (STUBBORN, STUBBORN.replace("trap '' TERM", "trap 'exit 0' TERM")):
        with Server() as server, Folder() as folder, \
                Running("run", "--ttl", f"{int(ttl * 1000)}ms", "k", *shell(script, folder), url=server.url) as running:
            pid = folder.number("pid")
            killed = time.time_ns()
            server.kill()
            done = running.done()
            same((done.code, is_alive(pid)), (79, False))
            last = folder.number("beat")
            # It was renewed before the server was killed at the latest; the rest is what a busy machine takes to kill.
            assert last <= killed + (ttl + 1.0 * SLOW) * 1e9, (last - killed) / 1e9
            assert f"ends and is not renewed: {server.url}: " in done.err and "is ended" in done.err, done


@test
def a_lock_that_is_taken_away_ends_the_command_and_all_that_came_from_it():
    daemon = "setsid sh -c 'trap \"\" TERM; echo $$ >%(other)s; while :; do sleep 0.02; done' & "
    with Server() as server, Folder() as folder, \
            Running("run", "--grace", "300ms", "k", *shell(daemon + STUBBORN, folder), url=server.url) as running:
        pids = [folder.number("pid"), folder.number("other")]
        lockctl("release", "--force", "--yes", "k", url=server.url)
        done = running.done()
        same(done.code, 79)
        same("the lock was lost" in done.err, True)
        same([is_alive(pid) for pid in pids], [False, False])


@test
def a_daemon_that_a_thread_of_the_command_has_begun_is_told_to_end_like_the_others():
    begin = ("import subprocess, threading; begin = lambda: subprocess.run(['setsid', 'sh', '-c', "
             "'trap \"touch %(told)s; exit 0\" TERM; echo $$ >%(pid)s; while :; do sleep 0.02; done']); "
             "thread = threading.Thread(target=begin); thread.start(); thread.join()")
    with Server() as server, Folder() as folder:
        command = ("--", sys.executable, "-c", begin % {name: folder.file(name) for name in ("told", "pid")})
        with Running("run", "--grace", "10s", "k", *command, url=server.url) as running:
            pid = folder.number("pid")
            lockctl("release", "--force", "--yes", "k", url=server.url)
            same(running.done().code, 79)
            same((is_alive(pid), os.path.exists(folder.file("told"))), (False, True))


@test
def a_command_that_ends_by_itself_when_the_lock_is_lost_is_79_all_the_same():
    with Server() as server, Folder() as folder, \
            Running("run", "k", *shell("trap 'exit 0' TERM; echo $$ >%(pid)s; while :; do sleep 0.01; done", folder),
                    url=server.url) as running:
        folder.number("pid")
        lockctl("release", "--force", "--yes", "k", url=server.url)
        same(running.done().code, 79)


@test
def what_the_command_leaves_in_the_background_goes_on_without_the_lock_and_that_is_said():
    with Server() as server, Folder() as folder:
        script = shell("(sleep 1000 >/dev/null 2>&1 & echo $! >%(pid)s)", folder)
        done = lockctl("run", "k", *script, url=server.url)
        pid = folder.number("pid")
        same((is_alive(pid), "--descendants" in done.err, is_held(server, "k")), (True, True, False))
        os.kill(pid, signal.SIGKILL)


@test
def with_descendants_the_lock_is_held_until_the_last_of_them_has_ended_daemons_included():
    with Server() as server, Folder() as folder:
        script = shell("(setsid sh -c 'echo $$ >%(pid)s; exec sleep 1000' >/dev/null 2>&1 &); exit 5", folder)
        with Running("run", "--descendants", "k", *script, url=server.url) as running:
            pid = folder.number("pid")
            assert eventually(lambda: is_held(server, "k"), 5)
            time.sleep(0.2)
            same((running.is_running(), is_held(server, "k")), (True, True))
            os.kill(pid, signal.SIGTERM)
            done = running.done()
            same((done.code, done.err, is_held(server, "k")), (5, "", False))


@test
def the_command_is_killed_with_lockctl_and_the_next_one_gets_the_lock_when_the_lease_ends():
    with Server() as server, Folder() as folder:
        with Running("run", "--ttl", "1s", "k", *shell(STUBBORN, folder), url=server.url) as running:
            pid = folder.number("pid")
            running.signal(signal.SIGKILL)
            running.done()
            assert eventually(lambda: not is_alive(pid), 5)
        lockctl("run", "--wait", f"{int(PATIENCE)}s", "k", "--", "true", url=server.url)


@test
def the_command_is_forked_first_and_goes_when_lockctl_is_killed_while_it_waits():
    with Server() as server, held(server.url, "k"), waiting(server.url, "k") as waiter:
        children = f"/proc/{waiter.process.pid}/task/{waiter.process.pid}/children"
        pad = int(open(children).read())
        waiter.signal(signal.SIGKILL)
        waiter.done()
        assert eventually(lambda: not is_alive(pad), 5)


@test
def a_wait_whose_server_goes_says_so_once_and_ends_well_when_it_is_back():
    for words, first in (([], []), (["--json"], [{"event": "waiting", "key": "k"}])):
        with Server() as server, held(server.url, "k"), \
                Running("run", *words, "k", "--", "true", url=server.url) as running:
            assert eventually(lambda: len(queue_of(server.url, "k")) == 1, 20)
            for told in first:
                same(json.loads(running.line(running.process.stderr)), told)
            server.kill()
            line = running.line(running.process.stderr)
            same(("waiting" in line, f"{server.url}: " in line), (True, True))
            time.sleep(2.2)  # two looks that find nothing new
            server.start()
            done = running.done()
        same((done.code, done.err.count("waiting")), (0, 0))


@test
def each_step_is_told_as_json_on_standard_error():
    with Server() as server:
        with held(server.url, "k") as holder:
            with Running("run", "--json", "k", "--", "sh", "-c", "echo out; exit 4", url=server.url) as running:
                assert eventually(lambda: len(queue_of(server.url, "k")) == 1, 20)
                time.sleep(0.7 * SLOW)
                holder.signal(signal.SIGTERM)
                done = running.done()
        same((done.out, done.code), ("out\n", 4))
        told = [json.loads(line) for line in done.err.splitlines()]
        same([one["event"] for one in told], ["waiting", "acquired", "ended"])
        same((told[2]["exit"], told[2]["released"], told[1]["token"] > 0), (4, "OK", True))


@test
def a_value_is_shown_to_who_looks_and_a_secret_of_the_command_line_is_not():
    with Server() as server, held(server.url, "k", "--value", "nightly import"):
        shown = lockctl("info", "--json", "k", url=server.url).json
        same((shown["value"], shown["owner"].endswith("/lockctl:sleep"), "1000" in shown["owner"]),
             ("nightly import", True, False))


@test
def a_run_inside_a_run_holds_both_keys():
    with Server() as server:
        script = "lockctl info --json outer; lockctl info --json inner"
        done = lockctl("run", "outer", "--", "lockctl", "run", "inner", "--", "sh", "-c", script, url=server.url)
        same([one["held"] for one in done.objects], [True, True])
        same("LIBLOCK_URL" in environment(server.url), True)


if __name__ == "__main__":
    main()
