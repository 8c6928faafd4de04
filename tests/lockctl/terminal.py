#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockctl in a terminal: the screen of top, job control of run, progress, colours. The terminal is tmux', and what is
looked at is what stands on its screen. Usage: terminal.py LOCKCTL [PART OF A NAME]. TAP."""
import os
import signal
import sys

from tool import (Folder, Server, Terminal, eventually, held, is_alive, is_held, lockctl, main, program_of, same,
                  state_of, test, waiting)


def bash(server):
    return Terminal("bash", "--norc", "--noprofile", "-i", url=server.url, env={"PS1": "ready> "})


@test
def top_shows_holders_queues_waits_and_rates_as_they_change():
    with Server() as server, held(server.url, "orders/7") as holder, \
            Terminal("lockctl", "top", "--interval", "100ms", url=server.url, columns=120) as top:
        top.shows("1 locks held, 0 waiting in 0 queues")
        same(top.lines[0].startswith(f"lockctl top  {server.url}"), True)
        same(top.lines[9].split(), ["WAITING", "HELD", "LEFT", "HOLDER", "KEY"])
        row = top.lines[10].split()
        same((row[0], row[3].split("-")[0], row[-1]), ("0", str(holder.process.pid), "orders/7"))
        with waiting(server.url, "orders/7"), waiting(server.url, "orders/7"):
            top.shows("1 locks held, 2 waiting in 1 queues")
            # Two of them wait; who has waited for how long is a matter of time.
            assert eventually(lambda: sum(int(line.split()[-1]) for line in top.lines[3:9]) == 2, 20), top.text
            assert eventually(lambda: "#" in top.text, 20), top.text
        top.shows("0 waiting in 0 queues")
        lockctl("release", "--force", "--yes", "orders/7", url=server.url)
        top.shows("0 locks held")
        top.shows_not("orders/7")
        top.press("q")
        same(top.end(), 0)


@test
def top_counts_what_is_granted():
    with Server() as server, Terminal("lockctl", "top", "--interval", "1s", url=server.url) as top:
        top.shows("seen 0.0/s granted, 0.0/s ended")
        with held(server.url, "a"), held(server.url, "b"):
            assert eventually(lambda: "seen" in top.text and "seen 0.0/s granted" not in top.text, 20), top.text
            lockctl("clear", "--yes", url=server.url)
            assert eventually(lambda: ", 0.0/s ended" not in top.text, 20), top.text


@test
def top_sorts_scrolls_and_follows_the_size_of_the_terminal():
    with Server() as server, held(server.url, "b"), held(server.url, "a"), held(server.url, "c"), \
            waiting(server.url, "c"), Terminal("lockctl", "top", "--interval", "50ms", url=server.url, rows=24) as top:
        def keys():
            return [line.split()[-1] for line in top.lines[10:13] if line]

        def shows_keys(*wanted):
            if not eventually(lambda: keys() == list(wanted), 20):
                raise AssertionError(f"not {wanted}:\n{top.text}")
        shows_keys("c", "a", "b")
        top.press("s")
        top.shows("s sort (by held)")
        shows_keys("b", "a", "c")
        top.press("s")
        shows_keys("a", "b", "c")
        top.press("Down")
        shows_keys("b", "c")
        top.press("Up")
        shows_keys("a", "b", "c")
        top.resize(60, 12)  # room for one key
        assert eventually(lambda: top.lines[10].endswith(" a") and len(top.lines) == 12, 20), top.text
        assert all(len(line) <= 60 for line in top.lines), top.text


@test
def top_keeps_what_it_has_seen_while_the_server_is_away():
    with Server() as server, held(server.url, "k") as holder, \
            Terminal("lockctl", "top", "--interval", "100ms", url=server.url) as top:
        top.shows("1 locks held")
        server.kill()
        top.shows("NO ANSWER, this is old:")
        top.shows("1 locks held")
        holder.signal(signal.SIGKILL)
        server.start()
        top.shows("0 locks held")
        top.shows_not("NO ANSWER")
        top.press("C-c")
        same(top.end(), 0)


@test
def top_gives_the_terminal_back_when_it_ends_or_is_stopped():
    for words in ("lockctl top", "lockctl run k -- lockctl top"):
        gives_the_terminal_back(words)


def gives_the_terminal_back(words):
    with Server() as server, bash(server) as shell:
        shell.shows("ready>")
        shell.type(words)
        shell.shows("lockctl top  redis")
        shell.press("C-z")
        shell.shows("Stopped")
        shell.type("echo he''re; stty -a | grep -o ' -*icanon'")
        shell.shows("here\n icanon")
        shell.type("fg")
        shell.shows("q quit")
        shell.press("q")
        shell.shows_not("q quit")
        shell.type("stty -a | grep -o ' -*echo '; echo e''nd")
        shell.shows("end")
        same(" -echo " in shell.text, False)


@test
def a_key_cannot_paint_on_the_screen_of_top():
    with Server() as server, held(server.url, "\x1b[31mred\x1b[0m\r\n"), \
            Terminal("lockctl", "top", "--interval", "50ms", url=server.url, columns=120) as top:
        top.shows(r"\x1b[31mred\x1b[0m\x0d\x0a")


@test
def the_command_has_the_terminal_and_control_c_ends_it():
    with Server() as server, Folder() as folder, bash(server) as shell:
        shell.shows("ready>")
        script = f"echo $$ >{folder.file('pid')}; read x; echo got-$x; exec sleep 1000"
        shell.type(f"lockctl run k -- sh -c '{script}'")
        pid = folder.number("pid")
        same(is_held(server, "k"), True)
        shell.type("typed")
        shell.shows("got-typed")
        # A shell that is about to start a program loses the interrupt; one that sleeps does not.
        assert eventually(lambda: program_of(pid) == "sleep", 20)
        shell.press("C-c")
        shell.shows("^C")
        shell.type("echo code-$?")
        shell.shows("code-130")
        same(is_held(server, "k"), False)


@test
def control_c_ends_the_loop_or_the_script_around_it_also_while_it_waits():
    loop = "for i in 1 2 3; do echo round-$i; {}; done"
    runs = "lockctl run k -- sh -c \"echo \\$\\$ >{}; exec sleep 1000\""
    with Server() as server, Folder() as folder, bash(server) as shell:
        shell.shows("ready>")
        for number, words in enumerate((loop, f"sh -c '{loop}'", f"bash -c '{loop}'")):
            shell.type("clear; " + words.format(runs.format(folder.file(f"pid-{number}"))))
            pid = folder.number(f"pid-{number}")
            assert eventually(lambda pid=pid: program_of(pid) == "sleep", 20)
            shell.press("C-c")
            shell.type(f"echo code-$?-{number}")
            shell.shows(f"code-130-{number}")
            same(("round-1" in shell.text, "round-2" in shell.text), (True, False))
        with held(server.url, "k"):
            shell.type("clear; " + loop.format("lockctl run k -- true"))
            shell.shows("waiting for k")
            shell.press("C-c")
            shell.type("echo code-$?-waits")
            shell.shows("code-130-waits")
            same("round-2" in shell.text, False)


@test
def the_rest_of_a_pipeline_keeps_the_terminal_and_so_does_the_command():
    with Server() as server, bash(server) as shell:
        shell.shows("ready>")
        shell.type("lockctl run k -- sh -c 'echo out; exec sleep 1000' | "
                   "sh -c 'read a; read b </dev/tty; echo got-$a-$b; exec sleep 1000'")
        assert eventually(lambda: is_held(server, "k"), 20)
        shell.type("typed")
        shell.shows("got-out-typed")
        shell.press("C-c")
        assert eventually(lambda: not is_held(server, "k"), 20)
        shell.type("echo out | lockctl run k -- sh -c 'read a; read b </dev/tty; echo last-$a-$b' | cat")
        assert eventually(lambda: is_held(server, "k"), 20)
        shell.type("typed")
        shell.shows("last-out-typed")


@test
def in_a_pipeline_the_terminals_signals_come_to_the_command_once_and_all_stop_and_go_on_together():
    with Server() as server, Folder() as folder, bash(server) as shell:
        shell.shows("ready>")
        out, pid = folder.file("out"), folder.file("pid")
        script = (f"trap \"echo int >>{out}\" INT; trap \"echo term >>{out}; exit 5\" TERM; echo $$ >{pid}; "
                  "while :; do read x; done")
        # Neither of them forks what could be stopped before it is a program: whoever began it would wait for that.
        shell.type(f"lockctl run --ttl 60s k -- sh -c '{script}' | sh -c 'trap \"\" INT; exec cat'")
        pid = folder.number("pid")
        tool = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
        same(program_of(tool), "lockctl")
        shell.press("C-c")
        assert eventually(lambda: folder.text("out") != "", 20)
        shell.press("C-z")
        shell.shows("Stopped")
        same((state_of(pid), state_of(tool)), ("T", "T"))
        shell.type("fg")
        assert eventually(lambda: "T" not in (state_of(pid), state_of(tool)), 20)
        same((folder.text("out"), is_held(server, "k")), ("int\n", True))
        # One that is for lockctl alone is passed on.
        os.kill(tool, signal.SIGTERM)
        assert eventually(lambda: not is_held(server, "k"), 20)
        same((folder.text("out"), is_alive(pid)), ("int\nterm\n", False))


@test
def where_no_shell_could_wake_them_up_control_z_stops_neither():
    alone = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    for through in ((), (sys.executable, "-c", alone)):  # in a group with others, and as all of a terminal's session
        with Server() as server, Folder() as folder:
            script = f"echo $$ >{folder.file('pid')}; read x; echo got-$x"
            words = (*through, "lockctl", "run", "--ttl", "60s", "k", "--", "sh", "-c", script)
            with Terminal(*words, url=server.url) as terminal:
                pid = folder.number("pid")
                terminal.press("C-z")
                terminal.shows("^Z")
                terminal.type("on")
                terminal.shows("got-on")
                same((terminal.end(), is_alive(pid)), (0, False))


@test
def stopped_from_the_terminal_both_stop_and_go_on_together():
    with Server() as server, Folder() as folder, bash(server) as shell:
        shell.shows("ready>")
        shell.type(f"lockctl run --ttl 60s k -- sh -c 'echo $$ >{folder.file('pid')}; read x; echo got-$x'")
        pid = folder.number("pid")
        shell.press("C-z")
        shell.shows("Stopped")
        same(state_of(pid), "T")
        shell.type("fg; echo code-$?")
        # What is typed before it has the terminal again would be the shell's.
        assert eventually(lambda: state_of(pid) == "S", 20), shell.text
        shell.type("on")
        shell.shows("got-on")
        shell.shows("code-0")


@test
def a_command_that_was_stopped_for_longer_than_its_lease_is_ended_without_running_again():
    with Server() as server, Folder() as folder, bash(server) as shell:
        shell.shows("ready>")
        script = f"trap 'echo ran >{folder.file('out')}' CONT; echo $$ >{folder.file('pid')}; while :; do read x; done"
        shell.type(f"lockctl run --ttl 500ms --grace 0 k -- sh -c \"{script.replace('$', chr(92) + '$')}\"")
        pid = folder.number("pid")
        shell.press("C-z")
        shell.shows("Stopped")
        assert eventually(lambda: not is_held(server, "k"), 20)
        shell.type("fg; echo code-$?")
        shell.shows("code-79")
        same((is_alive(pid), folder.text("out")), (False, ""))


@test
def who_waits_sees_it_and_the_line_goes_when_the_wait_ends():
    with Server() as server, held(server.url, "k"), \
            Terminal("lockctl", "run", "k", "--", "true", url=server.url) as terminal:
        terminal.shows("lockctl: waiting for k …")
        lockctl("release", "--force", "--yes", "k", url=server.url)
        same(terminal.end(), 0)
        terminal.shows_not("waiting for k")


@test
def colours_are_for_terminals_and_can_be_turned_off():
    with Server() as server, held(server.url, "k"):
        def coloured(*words, **environment):
            with Terminal("lockctl", *words, "info", "k", url=server.url, env=environment) as terminal:
                terminal.shows("waiting:")
                return "\x1b[1m" in terminal.coloured_text
        same(coloured(), True)
        same(coloured("--color", "never"), False)
        same(coloured(NO_COLOR="1"), False)
        same(coloured("--color", "always", NO_COLOR="1"), True)
        same("\x1b" in lockctl("info", "k", url=server.url).out, False)
        same("\x1b[1m" in lockctl("info", "--color", "always", "k", url=server.url).out, True)


@test
def bench_shows_how_far_it_is():
    with Terminal("lockctl", "bench", "--for", "1s", url="local:") as terminal:
        terminal.shows("[###")
        terminal.shows("all threads on one key")
        same(terminal.end(), 0)
        same("[#" in terminal.text, False)


if __name__ == "__main__":
    main()
