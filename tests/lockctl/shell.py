#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a shell sees of lockctl: its command line, the password that nobody sees, completions, the manual, the documents
with what they say about it. Usage: shell.py LOCKCTL [PART OF A NAME]. TAP."""
import json
import os
import pathlib
import re
import socket
import subprocess
import threading

from tool import PROGRAM, Folder, Running, Server, environment, eventually, held, lockctl, main, queue_of, same, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL = ROOT / "lockctl/lockctl.1"


def said(*command, stdin="", env=None, cwd=None):
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=env or environment(), cwd=cwd,
                          timeout=60, check=False)


def commands():
    """Name and options of each command, as the help has them; '' = those of every command."""
    found = {}
    for words in ([], *([name] for name in commands_below()), *(["quorum", name] for name in commands_below("quorum"))):
        text = lockctl(*words, "--help").out
        found[" ".join(words)] = set(re.findall(r"(?:^  |,)(--?[a-z-]+)", text, re.MULTILINE))
    return found


def commands_below(*words):
    block = lockctl(*words, "--help").out.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in block.splitlines() if re.match(r"  \w", line)]


@test
def a_command_line_that_is_wrong_is_64_with_cause_and_cure():
    for words in ([], ["nonsense"], ["ls", "--nonsense"], ["info"], ["run"], ["quorum"], ["quorum", "nonsense"],
                  ["completion", "tcsh"], ["ls", "--locks", "--queues"], ["clear", "--owner", "a", "--instance", "b"],
                  ["ping", "--count", "0"], ["bench", "--threads", "0"], ["--color", "pink", "ls"]):
        done = lockctl(*words, url="local:", code=64)
        same((done.out, done.err.count("\n"), done.err.startswith("lockctl: ")), ("", 1, True))
    same(json.loads(lockctl("ls", "--json", "--nonsense", code=64).err)["error"], "USAGE")


@test
def a_command_that_does_not_exist_is_named_and_help_is_one():
    for words in (["nonsense"], ["quorum", "nonsense"], ["info", "--nonsense"], ["nonsense", "--", "true"]):
        same("nonsense'" in lockctl(*words, code=64).err, True)
    for words in ([], ["run"], ["quorum", "init"]):
        same(lockctl("help", *words).out, lockctl(*words, "--help").out)
    for words in (["nonsense"], ["quorum", "nonsense"]):
        same("nonsense'" in lockctl("help", *words, code=64).err, True)


@test
def a_port_where_something_else_answers_is_asked_about():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up():
            try:
                while True:
                    listener.accept()[0].close()
            except OSError:
                pass  # the test is over

        threading.Thread(target=hang_up, daemon=True).start()
        done = lockctl("ping", url=f"redis://127.0.0.1:{listener.getsockname()[1]}", code=69)
        same("is that the port of a Redis server" in done.err, True)
        listener.shutdown(socket.SHUT_RDWR)


@test
def a_word_of_another_tool_is_answered_by_the_one_that_may_be_meant():
    for words, meant in ((["list"], "ls"), (["inspect", "k"], "info"), (["get", "k"], "info"),
                         (["unlock", "k"], "release"), (["help", "list"], "ls"), (["run", "--nowait"], "--no-wait"),
                         (["run", "--nowait", "k", "--", "true"], "--no-wait")):
        same(f"(did you mean {meant}?); see lockctl" in lockctl(*words, code=64).err, True)
    for words in (["nonsense"], ["quorum", "list"], ["ls", "--nowait"]):  # where what is meant is none either
        same("did you mean" in lockctl(*words, code=64).err, False)


@test
def what_no_command_is_points_to_the_help_that_lists_commands():
    for words, command in ((["nonsense"], ""), (["quorum", "stat"], "quorum "), (["help", "nonsense"], ""),
                           (["help", "quorum", "stat"], "quorum ")):
        err = lockctl(*words, code=64).err
        same((" no command" in err, err.endswith(f"; see lockctl {command}--help\n")), (True, True))


@test
def who_says_nothing_is_told_what_to_do():
    same(lockctl(code=64).err,
         "lockctl: say what to do, as in lockctl ls or lockctl run KEY -- COMMAND; see lockctl --help\n")
    same(lockctl("quorum", code=64).err,
         "lockctl: say what to do, as in lockctl quorum status; see lockctl quorum --help\n")


@test
def the_help_of_run_shows_where_its_command_stands_and_every_help_how_a_time_is_written_once():
    same(lockctl("run", "--help").out.splitlines()[1], "Usage: lockctl run [OPTIONS] KEY -- COMMAND…")
    for words, count in (([], 1), (["run"], 1), (["quorum", "wait"], 1), (["info"], 0), (["quorum"], 0)):
        text = lockctl(*words, "--help").out
        same((text.count("such as 500ms, 30s"), "-- COMMAND…\n" in text), (count, words in ([], ["run"])))


@test
def a_command_of_run_without_its_two_dashes_is_told_where_they_belong():
    for words, cure in ((["k", "echo", "hi"], "k -- echo hi"), (["echo", "echo", "hi"], "echo -- echo hi"),
                        (["a key", "sh", "-c", "echo 1"], "'a key' -- sh -c 'echo 1'"),
                        (["k", "rm", "-q", "x"], "k -- rm …")):  # -q was taken for run's own
        done = lockctl("run", *words, url="local:", code=64)
        same(done.err, f"lockctl: the command of run comes behind --; say: lockctl run {cure}\n")
    for words in (["run", "k", "more", "--", "true"], ["info", "k", "more"], ["run", "k", "--more", "--", "true"]):
        err = lockctl(*words, url="local:", code=64).err
        same(("more' is known here" in err, f"see lockctl {words[0]} --help" in err), (True, True))


@test
def a_timeout_that_is_out_of_range_is_named_as_it_was_given():
    for time in ("0", "11m"):
        err = lockctl("--timeout", time, "ping", url="redis://127.0.0.1:1", code=64).err
        same(err, f"lockctl: --timeout: '{time}' is out of range; give 1ms to 10m; see lockctl --help\n")


@test
def a_number_that_is_out_of_range_or_none_is_named_with_its_range():
    for words, least, most in ((["run", "k", "--order", "priority", "--priority"], -1000000, 1000000),
                               (["ping", "--count"], 1, 1000000), (["bench", "--threads"], 1, 256),
                               (["top", "--rounds"], 1, 1000000000), (["quorum", "init", "--votes"], -1, 15),
                               (["quorum", "set-nodes", "redis://a", "--votes"], -1, 15)):
        for text in ("abc", "99999999999", "5x", "", str(least - 1), str(most + 1)):
            err = lockctl(*words, text, url="redis://127.0.0.1:1", code=64).err
            same(err, f"lockctl: {words[-1]}: '{text}' is no whole number from {least} to {most}\n")


@test
def output_that_cannot_be_written_is_no_answer():
    with Server() as server:
        for words in (["ls", "--count"], ["dead"], ["ping"], ["bench", "--json", "--for", "10ms"]):
            script = " ".join([PROGRAM, *words]) + " >/dev/full"
            done = subprocess.run(["sh", "-c", script], env=environment(server.url), capture_output=True, text=True)
            same((done.returncode, "cannot be written: No space left" in done.stderr), (71, True))


@test
def a_time_that_is_too_short_is_refused_with_the_shortest():
    for words in (["top"], ["watch"]):
        err = lockctl(*words, "--interval", "0", url="redis://127.0.0.1:1", code=64).err
        same(err, f"lockctl: --interval: '0' is out of range; give 10ms or more; see lockctl {words[0]} --help\n")
    for time in ("0", "5ms", "19ms"):
        err = lockctl("run", "--max-hold", time, "k", "--", "true", url="redis://127.0.0.1:1", code=64).err
        same(f"--max-hold: '{time}' is out of range; give 20ms or more" in err, True)
    err = lockctl("bench", "--for", "0", url="local:", code=64).err
    same(err, "lockctl: --for: '0' is out of range; give 10ms or more; see lockctl bench --help\n")


@test
def what_is_missing_points_to_the_help_of_its_command():
    for words, missing in ((["run", "--", "true"], "KEY"), (["info"], "KEY"), (["quorum", "set-nodes"], "SERVER")):
        err = lockctl(*words, url="redis://127.0.0.1:1", code=64).err
        command = " ".join(word for word in words if word not in ("--", "true"))
        same(err, f"lockctl: {missing} is required; see lockctl {command} --help\n")


@test
def what_is_wrong_with_an_option_points_to_the_help_that_lists_it():
    for words, command in ((["run", "--wait", "1s", "--no-wait", "k", "--", "true"], "run "),
                           (["run", "--ttl-ms", "5", "k", "--", "true"], "run "), (["run", "k", "--ttl"], "run "),
                           (["info", ""], "info "), (["ls", "--locks", "--queues"], "ls "),
                           (["dead", "--older-than", "1s"], "dead "), (["completion", "tcsh"], "completion "),
                           (["quorum", "init", "--max-ttl"], "quorum init "), (["ls", "--timeout", "0"], ""),
                           (["run", "k", "--color"], "")):
        err = lockctl(*words, url="redis://127.0.0.1:1", code=64).err
        same(err.endswith(f"; see lockctl {command}--help\n"), True)


@test
def options_that_would_mean_nothing_together_are_refused():
    for words in (["run", "--wait", "3s", "--no-wait", "k", "--", "true"],
                  ["run", "--priority", "5", "k", "--", "true"], ["dead", "--older-than", "1s"],
                  ["top", "--rounds", "0"]):
        lockctl(*words, url="redis://127.0.0.1:1", code=64)
    for order in ([], ["--order", "fifo"], ["--order", "lifo"], ["--order", "any"]):
        err = lockctl("run", *order, "--priority", "3", "k", "--", "true", url="redis://127.0.0.1:1", code=64).err
        same("with --order priority alone" in err, True)


@test
def options_of_tls_are_refused_where_no_url_asks_for_it():
    nowhere = "127.0.0.1:1"
    for option in (["--ca-file", "/etc/passwd"], ["--cert-file", "a"], ["--key-file", "a"], ["--insecure"]):
        for url in (f"redis://{nowhere}", "unix:///nowhere", f"quorum:redis://{nowhere},redis://127.0.0.1:2", "local:"):
            err = lockctl(*option, "bench", url=url, code=64).err
            same(err, f"lockctl: {option[0]} is of TLS, which the url does not ask for; say rediss://HOST\n")
    for words, url in ((["ls"], f"rediss://{nowhere}"), (["ls"], f"quorum:redis://{nowhere},rediss://127.0.0.1:2"),
                       (["quorum", "set-nodes", f"rediss://{nowhere}"], f"quorum:redis://{nowhere}")):
        same("is of TLS" in lockctl("--insecure", *words, url=url, code=None).err, False)


@test
def no_server_is_guessed():
    same("LIBLOCK_URL" in lockctl("ls", code=64).err, True)
    lockctl("ls", url="redis:/nonsense", code=78)


@test
def a_url_without_its_scheme_is_answered_by_the_one_that_is_meant():
    for url in ("localhost:6379", "redis:6379", "10.0.0.1:1"):
        same(lockctl("--url", url, "ls", code=78).err, f"lockctl: the url has no scheme; say redis://{url}\n")
    for url, code in (("localhost", 64), ("tcp://localhost", 78)):
        err = lockctl("--url", url, "ls", code=code).err
        same(("redis://host:port/db" in err, "local:" in err), (True, False))


@test
def a_url_of_the_environment_that_is_refused_is_said_to_be_from_there_and_shown_unless_it_could_have_a_password():
    for url, code in (("localhost:6379", 78), ("localhost", 64), ("redis://h:99999", 64), ("quorum:redis://a,", 64),
                      ("local:", 78)):
        same(lockctl("ls", url=url, code=code).err.endswith(f" (LIBLOCK_URL is {url})\n"), True)
        same("LIBLOCK_URL" in lockctl("--url", url, "ls", code=code).err, False)
    same("(LIBLOCK_URL is redis://h)" in lockctl("quorum", "status", url="redis://h", code=78).err, True)
    for url in ("redis://:s3cret@h:99999", "redis://h:s3cret", ":s3cret@h", "h:s3cret", ":12345", "redis://:12345"):
        err = lockctl("ls", url=url, code=None).err
        same(("s3cret" in err, "12345" in err, "(the url is that of LIBLOCK_URL)" in err), (False, False, True))


@test
def an_empty_value_is_none_that_was_left_out():
    nowhere = "redis://127.0.0.1:1"
    for words in (["--url", "", "ls"], ["--url=", "ls"], ["ls", "-u", ""]):
        err = lockctl(*words, url=nowhere, code=64).err
        same(err, "lockctl: --url: the url is empty; see lockctl --help\n")
    err = lockctl("clear", "--owner=", "--yes", url=nowhere, code=64).err
    same("--owner: it is empty" in err, True)
    # Of watch it would be all keys.
    for command in (["info"], ["queue"], ["watch", "--for", "1ms"]):
        same("KEY: it is empty" in lockctl(*command, "", url=nowhere, code=64).err, True)


@test
def options_of_every_command_may_stand_before_it_and_behind_it():
    with Server() as server, held(server.url, "ls"):
        for words in (["--url", server.url, "info", "ls"], ["info", "ls", "--url", server.url],
                      ["info", f"--url={server.url}", "ls"], ["-u", server.url, "info", "--json", "ls"]):
            same("held" in lockctl(*words).out or "key: ls" in lockctl(*words).out, True)


@test
def a_password_in_the_command_line_is_overwritten_there_and_warned_about():
    with Server("--requirepass", "s3cret") as server, Folder() as folder:
        url = server.url.replace("redis://", "redis://:s3cret@")
        script = f"echo x >{folder.file('out')}; sleep 1000"
        for words in (["--url", url], [f"--url={url}"], ["-u", url]):
            with Running(*words, "run", "k", "--", "sh", "-c", script) as running:
                assert eventually(lambda: folder.text("out"), 20)
                line = pathlib.Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
                same((b"s3cret" in line, b":******@" in line), (False, True))
                running.signal(15)
                done = running.done()
                same(("s3cret" in done.err, "LIBLOCK_PASSWORD" in done.err), (False, True))
            os.unlink(folder.file("out"))


@test
def a_password_comes_from_a_file_or_the_environment_and_is_printed_nowhere():
    with Server("--requirepass", "s3cret") as server, Folder() as folder:
        file = pathlib.Path(folder.file("password"))
        missing = lockctl("ping", "--password-file", str(file), url=server.url, code=64)
        same("cannot read" in missing.err, True)
        file.write_text("s3cret\n")
        file.chmod(0o600)
        done = lockctl("ping", "--password-file", str(file), url=server.url, env={"LIBLOCK_PASSWORD": "wrong"})
        same(done.err, "")
        file.chmod(0o644)
        same("chmod 600" in lockctl("ping", "--password-file", str(file), url=server.url).err, True)
        lockctl("ping", url=server.url, env={"LIBLOCK_PASSWORD": "s3cret"})
        refused = lockctl("ping", url=server.url, env={"LIBLOCK_PASSWORD": "wr0ng"}, code=77)
        same("wr0ng" in refused.out + refused.err, False)
        shown = lockctl("ping", "--json", url=server.url.replace("redis://", "redis://:s3cret@"))
        same((shown.json["url"], "s3cret" in shown.err), (f"redis://:******@127.0.0.1:{server.port}/0", False))


@test
def who_gives_no_password_is_told_the_ways_of_lockctl_to_give_one():
    with Server("--requirepass", "s3cret") as server:
        for words in (["ping"], ["ls"], ["run", "k", "--", "true"]):
            err = lockctl(*words, url=server.url, code=77).err
            same(("(give the password in LIBLOCK_PASSWORD or by --password-file)" in err, "PASSWORD@" in err),
                 (True, False))
    for words in (["--password", "s3cret", "ping"], ["ping", "--password=s3cret"], ["--password", "s3cret"],
                  ["info", "--password", "s3cret"], ["run", "k", "--password", "s3cret", "--", "true"],
                  ["completion", "--password", "s3cret"]):
        err = lockctl(*words, url="redis://127.0.0.1:1", code=64).err
        same(err, "lockctl: there is no --password, which others on this machine could read; give it in "
                  "LIBLOCK_PASSWORD or by --password-file\n")


@test
def a_password_that_is_refused_is_said_to_be_of_the_environment_where_it_is():
    of_environment = " (the password is that of LIBLOCK_PASSWORD)\n"
    with Server("--requirepass", "s3cret") as server, Folder() as folder:
        for words in (["ping"], ["run", "k", "--", "true"]):
            done = lockctl(*words, url=server.url, env={"LIBLOCK_PASSWORD": "wrong"}, code=77)
            same(done.err.endswith(of_environment), True)
        file = pathlib.Path(folder.file("password"))
        file.write_text("wrong\n")
        ours = {"LIBLOCK_PASSWORD": "s3cret"}
        err = lockctl("ping", "--password-file", str(file), url=server.url, env=ours, code=77).err
        same("LIBLOCK_PASSWORD" in err, False)
    with Server() as server:
        err = lockctl("ping", url=server.url, env={"LIBLOCK_PASSWORD": "s3cret"}, code=77).err
        same(err.endswith("it has none set; leave the password out" + of_environment), True)


@test
def the_manual_is_well_formed_and_tells_every_command_option_and_exit_code():
    linted = said("mandoc", "-Tlint", "-W", "warning", str(MANUAL))
    same((linted.returncode, linted.stdout), (0, ""))
    rendered = said("sh", "-c", f"mandoc -Tutf8 -O width=300 {MANUAL} | col -b").stdout
    for name, options in commands().items():
        assert name in rendered, name
        for option in options - {"-h"}:
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", rendered), (name, option)
    header = (ROOT / "lockctl/exit_code.hpp").read_text()
    codes = [int(number) for number in re.findall(r"^  k\w+ = (\d+)", header, re.MULTILINE) if number != "128"]
    same(len(codes) > 10, True)
    manual = MANUAL.read_text().split(".Sh EXIT STATUS")[1].split(".Sh")[0]
    same(sorted(int(number) for number in re.findall(r"^\.It (\d+)", manual, re.MULTILINE)), sorted(codes))


@test
def completions_of_every_shell_are_valid_and_know_every_option():
    wanted = {option for options in commands().values() for option in options}
    for shell in ("bash", "zsh", "fish"):
        text = lockctl("completion", shell).out
        checked = said(shell, "-n", stdin=text)
        same((checked.returncode, checked.stderr), (0, ""))
        for option in wanted:
            known = f" -l {option[2:]}" if option.startswith("--") else f" -s {option[1:]}"
            assert (known if shell == "fish" else option) in text, (shell, option)


def completed_by_bash(line):
    script = (f'eval "$({PROGRAM} completion bash)"; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
              'case $LINE in *" ") COMP_WORDS+=(""); COMP_CWORD=$((COMP_CWORD + 1));; esac; _lockctl; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return said("bash", "-c", script, env=environment(LINE=line)).stdout.split()


@test
def bash_completes_commands_options_and_their_values():
    same(completed_by_bash("lockctl r"), ["release", "run"])
    same(completed_by_bash("lockctl quorum s"), ["set-nodes", "status"])
    same(completed_by_bash("lockctl --url redis://h run --ord"), ["--order"])
    same(completed_by_bash("lockctl run --order "), ["fifo", "lifo", "priority", "any"])
    same({"bash", "fish", "zsh"} <= set(completed_by_bash("lockctl completion ")), True)


@test
def fish_completes_commands_and_options():
    def completed(line):
        script = f"{PROGRAM} completion fish | source; complete -C '{line}'"
        return {row.split("\t")[0] for row in said("fish", "--no-config", "-c", script).stdout.splitlines()}
    same({"run", "release"} <= completed("lockctl r"), True)
    same(completed("lockctl run --order "), {"fifo", "lifo", "priority", "any"})
    same({"init", "status", "wait", "set-nodes"} <= completed("lockctl quorum "), True)


@test
def zsh_loads_its_completion():
    script = f'autoload -U compinit; compinit -u -D; eval "$({PROGRAM} completion zsh)"'
    # Evaluated outside a completion it complains only that it is outside of one.
    done = said("zsh", "-f", "-c", script)
    same("parse error" in done.stderr, False)
    lines = lockctl("completion", "zsh").out.splitlines()
    same((lines[0], lines[-1]), ("#compdef lockctl", '_lockctl "$@"'))


# Calls that a message may name and lockctl has no command for, or never makes so that it could hear of them; and names
# that are no calls.
WITHOUT_COMMAND = {"liblock_open", "liblock_export", "liblock_context_options_init",
                   "liblock_acquire_options_init", "liblock_acquire_seconds", "liblock_hold_seconds", "liblock_"}


@test
def every_call_that_a_message_of_the_library_names_has_a_word_of_lockctl_or_none():
    named = set()
    for path in [*ROOT.glob("core/**/*.cpp"), *ROOT.glob("capi/*.cpp")]:
        code = re.sub(r"^\s*(#include|//).*$", "", path.read_text(), flags=re.MULTILINE)
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
            named |= set(re.findall(r"\bliblock_\w*", text))
    words = set(re.findall(r'Word\{"(liblock_\w+)', (ROOT / "lockctl/wording.cpp").read_text()))
    same((len(words) >= 4, named - WITHOUT_COMMAND), (True, words))


def snippets(path):
    """The shell blocks of a document, with the exit code that a line before each says."""
    text = path.read_text()
    for match in re.finditer(r"^```sh *(?:exit=(\d+))?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start()) + 1, int(match.group(1) or 0), match.group(2)


def run_snippets(path, least):
    found = list(snippets(path))
    assert len(found) >= least, (path, len(found))
    with Server() as server, Folder() as folder:
        for line, code, body in found:
            done = said("bash", "-c", body, env=environment(server.url), cwd=folder.path)
            if done.returncode != code:
                raise AssertionError(f"{path.name}:{line}: exit {done.returncode}, not {code}: {done.stderr}")


@test
def what_the_guide_shows_runs_as_it_stands():
    run_snippets(ROOT / "docs/lockctl.md", 8)


@test
def the_lines_of_the_readme_run():
    lines = re.findall(r"^    (lockctl .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    same(len(lines) >= 2, True)
    with Server() as server, held(server.url, "nightly-import"):
        # What the line says the command is, stands in for it.
        for line in lines:
            done = said("bash", "-c", line.split("   ")[0].replace("./import.sh", "true"), env=environment(server.url))
            same(done.returncode in (0, 75), True)
        same(queue_of(server.url, "nightly-import"), [])


if __name__ == "__main__":
    main()
