#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lockctl over a quorum: founded, looked at, changed and locked on by the tool alone. Usage: quorum.py LOCKCTL [PART OF
A NAME]. TAP."""
import json
import re
import time

from tool import SLOW, Folder, Running, Server, Terminal, eventually, held, is_alive, lockctl, main, same, test, waiting
from quorums import Quorum  # found by what tool has set

MAX_TTL = "2s"
# A busy machine may take longer to answer than a quorum waits for its nodes, where it is they that are looked at.
PATIENT = ["--timeout", "20s"]


def quorum(count=3):
    """Servers that nobody has made a quorum yet."""
    return Quorum(count, founded=False)


def founded(count=3):
    servers = quorum(count)
    lockctl("quorum", "init", "--max-ttl", MAX_TTL, url=servers.url)
    return servers


@test
def one_server_is_no_quorum():
    with Server() as server:
        for words in (["init"], ["status"], ["set-nodes", server.url]):
            done = lockctl("quorum", *words, url=server.url, code=78)
            same("--url quorum:" in done.err, True)


@test
def a_server_that_is_missing_in_the_url_is_told_with_the_form_of_one():
    for url, place in (("quorum:", 1), ("quorum:redis://a,", 2)):
        err = lockctl("ls", url=url, code=64).err
        same(f"server {place} is empty; use \"redis://host:port/db\"" in err, True)


@test
def servers_that_nobody_has_made_a_quorum_grant_nothing_and_status_says_why():
    with quorum() as servers:
        shown = lockctl("quorum", "status", "--json", url=servers.url, code=69).json
        same((shown["can_grant"], shown["voting"], len(shown["nodes"])), (False, 0, 3))
        same({node["state"] for node in shown["nodes"]} <= {"quarantined", "needs_floor", "refused"}, True)
        text = lockctl("quorum", "status", url=servers.url, code=69).out
        same(("0 of 3 nodes vote" in text, "no lock can be granted" in text), (True, True))
        lockctl("run", "-n", "k", "--", "true", url=servers.url, code=69)


@test
def what_the_library_says_to_do_is_said_as_a_command():
    with quorum() as servers:
        for words in (["quorum", "status"], ["quorum", "status", "--json"], ["run", "-n", "k", "--", "x"],
                      ["run", "-n", "--json", "k", "--", "x"]):
            done = lockctl(*PATIENT, *words, url=servers.url, code=69)
            same(("lockctl quorum init" in done.out + done.err, "liblock_" in done.out + done.err), (True, False))
    with founded() as servers:
        done = lockctl("quorum", "init", url=servers.url, code=78)
        same(("--force marks it anew" in done.err, "FORCE" in done.err), (True, False))
        done = lockctl("run", "--order", "lifo", "k", "--", "true", url=servers.url, code=78)
        same("a quorum knows FIFO" in done.err, True)


@test
def a_time_in_a_message_is_told_as_lockctl_tells_times():
    with quorum() as servers:
        for words in (["run", "-n", "k", "--", "true"], ["ls"], ["watch", "--for", "100ms"]):
            err = lockctl(*PATIENT, *words, url=servers.url, code=None).err
            same((re.search(r"that ends, in (\d+m\d\d|\d+\.\d)s\.", err) is not None, " ms" in err), (True, False))


@test
def a_message_that_is_too_long_ends_after_a_word_and_says_who_tells_the_rest():
    with quorum(5) as servers:
        for server in servers.servers:
            server.kill()
        err = lockctl("info", "k", url=servers.url, code=69).err
        same(err.endswith(" … (lockctl quorum status tells all of it)\n"), True)


@test
def status_tells_each_reason_whole_and_once():
    with quorum() as servers:
        done = lockctl(*PATIENT, "quorum", "status", url=servers.url, code=69)
        nodes = done.out.splitlines()[3:]
        same([(line.startswith(server.url), line.endswith("with lockctl quorum init"), "quarantined" in line)
              for line, server in zip(nodes, servers.servers)], [(True, True, True)] * 3)
        same((len(nodes), done.err), (3, ""))


@test
def on_a_terminal_status_tells_the_reasons_below_its_columns():
    with quorum() as servers, \
            Terminal("lockctl", *PATIENT, "quorum", "status", url=servers.url, columns=80) as terminal:
        same(terminal.end(), 69)
        lines = terminal.lines
        same(lines[2].split(), ["NODE", "STATE", "SILENT", "FOR", "ROUND", "TRIP", "CLOCK"])
        same([line.split()[:2] for line in lines[3:6]], [[server.url, "quarantined"] for server in servers.servers])
        same(lines[6].startswith(f"{servers[0].url}: it was restarted"), True)


@test
def who_waits_for_nodes_that_do_not_vote_is_told_why_and_what_to_do_unless_quiet():
    with quorum() as servers:
        wait = [*PATIENT, "--wait", f"{int(2 * SLOW)}s", "k", "--", "true"]
        done = lockctl("run", *wait, url=servers.url, code=69)
        first, last = done.err.splitlines()
        same((done.out, first.startswith("lockctl: k: waiting: 3 of 3 nodes do not vote yet"),
              "lockctl quorum init" in first), ("", True, True))
        # What ended the wait is said in any case, and alone where nothing is to be said before.
        same(len(lockctl("run", "--quiet", *wait, url=servers.url, code=69).err.splitlines()), 1)
        told = lockctl("run", "--json", *wait, url=servers.url, code=69)
        first, last = [json.loads(line) for line in told.err.splitlines()]
        same((first["event"], "nodes do not vote yet" in first["message"], last["error"]),
             ("waiting", True, "QUARANTINED"))
    with founded() as servers, held(servers.url, "k"):
        servers[2].kill()
        same(len(lockctl("run", *wait, url=servers.url, code=75).err.splitlines()), 1)  # the holder's, not the nodes'


@test
def what_was_not_taken_away_everywhere_is_said_to_be_held_still():
    nobody = "quorum:" + ",".join(f"redis://127.0.0.1:{port}" for port in (1, 2, 3))
    for words in ([], ["--json"]):
        done = lockctl("release", "--force", "--yes", *words, "k", url=nobody, code=69)
        same((done.out, "127.0.0.1:1" in done.err), ("", True))
    with founded() as servers, held(servers.url, "k"):
        with servers[1].paused(), servers[2].paused():
            done = lockctl("release", "--force", "--yes", "k", url=servers.url, code=69)
        same("taken away on 1 of 3 nodes, fewer than must vote: its holder may have it still" in done.err, True)


@test
def a_list_of_nodes_that_do_not_vote_says_that_locks_may_be_missing():
    with quorum() as servers:
        for words in (["ls"], ["ls", "--json"], ["ls", "--count"], ["dead"], ["watch", "--for", "300ms"]):
            done = lockctl(*PATIENT, *words, url=servers.url)
            same(("locks that are not shown: 3 of 3 nodes do not vote yet" in done.err, "not vote" in done.out),
                 (True, False))
        shown = lockctl(*PATIENT, "top", url=servers.url)
        same("THERE MAY BE MORE: 3 of 3 nodes do not vote yet" in shown.out, True)
        seen = lockctl(*PATIENT, "top", "--json", "--rounds", "1", url=servers.url).json
        same("do not vote yet" in seen["missing"], True)
    with founded() as servers:
        for words in (["ls"], ["dead"], ["watch", "--for", "300ms"]):
            same(lockctl(*PATIENT, *words, url=servers.url).err, "")
        same(lockctl(*PATIENT, "top", "--json", "--rounds", "1", url=servers.url).json["missing"], None)


@test
def a_lease_is_as_long_as_the_quorum_allows_unless_a_longer_one_is_asked_for():
    most = min(25000, int(5000 * SLOW))
    with quorum() as servers:
        lockctl("quorum", "init", "--max-ttl", f"{most}ms", url=servers.url)
        for words in (["--no-renew"], ["--max-hold", "1h"], []):
            same(lockctl(*PATIENT, "run", *words, "k", "--", "true", url=servers.url).err, "")
        for ttl in ("30s", f"{most + 1}ms"):
            done = lockctl("run", "--ttl", ttl, "k", "--", "true", url=servers.url, code=64)
            same(f"longer than the quorum's max_ttl_ms, {most}" in done.err, True)


@test
def init_makes_a_quorum_once_and_again_only_by_force_and_a_yes():
    with founded() as servers:
        shown = lockctl("quorum", "status", "--json", url=servers.url).json
        same((shown["voting"], shown["votes"], shown["max_ttl_ms"]), (3, 2, 2000))
        lockctl("run", "k", "--", "true", url=servers.url)
        lockctl("quorum", "init", "--max-ttl", MAX_TTL, url=servers.url, code=78)
        same("say --yes" in lockctl("quorum", "init", "--force", url=servers.url, code=64).err, True)
        lockctl("quorum", "init", "--force", "--yes", "--max-ttl", MAX_TTL, url=servers.url)


@test
def votes_of_minus_one_are_those_of_all_nodes():
    with quorum() as servers:
        shown = lockctl("quorum", "init", "--max-ttl", MAX_TTL, "--votes", "-1", "--json", url=servers.url).json
        same(shown["votes"], 3)
    for command in ("init", "set-nodes"):
        same("-1 all" in lockctl("quorum", command, "--help").out, True)


@test
def a_node_that_may_evict_gives_no_vote_and_that_is_why():
    with Quorum(3, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", founded=False) as servers:
        for words in (["ping"], ["run", "-n", "k", "--", "true"], ["ls"]):
            err = lockctl(*words, url=servers.url, code=None).err
            same(("its maxmemory-policy is allkeys-lru" in err, "warning" in err, "LIBLOCK_URL" in err),
                 (True, False, False))


@test
def everything_that_looks_and_takes_away_works_over_a_quorum():
    with founded() as servers, held(servers.url, "k", "--value", "why") as holder, waiting(servers.url, "k") as waiter:
        shown = lockctl("info", "--json", "k", url=servers.url).json
        same((shown["value"], shown["instance"].split("-")[0]), ("why", str(holder.process.pid)))
        same([one["key"] for one in lockctl("ls", "--json", url=servers.url).objects], ["k"])
        same(lockctl("top", "--json", "--rounds", "1", url=servers.url).json["waiters"], 1)
        lockctl("dead", url=servers.url)
        same(lockctl("ping", "--json", url=servers.url).json["voting"], 3)
        lockctl("release", "--force", "--yes", "k", url=servers.url)
        same((holder.done().code, waiter.done().code), (79, 0))


@test
def a_minority_may_be_lost_and_with_the_majority_the_command_ends_within_its_lease():
    with founded() as servers, Folder() as folder:
        script = f"trap '' TERM; echo $$ >{folder.file('pid')}; while :; do sleep 0.02; done"
        with Running("run", "k", "--", "sh", "-c", script, url=servers.url) as running:
            pid = folder.number("pid")
            servers[0].kill()
            shown = lockctl("quorum", "status", "--json", url=servers.url).json
            same((shown["can_grant"], [node["state"] for node in shown["nodes"]][0]), (True, "down"))
            time.sleep(2.5 * SLOW)  # longer than any lease here
            same((running.is_running(), is_alive(pid)), (True, True))
            servers[1].kill()
            same((running.done().code, is_alive(pid)), (79, False))
        shown = lockctl("quorum", "status", "--json", url=servers.url, code=69).json
        same(shown["can_grant"], False)
        lockctl("run", "-n", "k", "--", "true", url=servers.url, code=69)


@test
def who_stays_gives_restarted_nodes_their_votes_back_for_all_who_come_and_go():
    with founded() as servers:
        for stay in (["quorum", "wait", "--for", "60s"], ["watch", "--for", f"{int(4 * SLOW)}s"]):
            for server in servers.servers[:2]:
                server.kill()
                server.start()
            lockctl("run", "-n", "k", "--", "true", url=servers.url, code=69)
            lockctl(*stay, url=servers.url)
            lockctl("run", "--wait", "20s", "k", "--", "true", url=servers.url)


@test
def wait_says_what_it_waits_for_and_ends_in_time_with_69_where_too_few_vote():
    with founded() as servers:
        same(lockctl("quorum", "wait", "--json", url=servers.url).json["voting"], 3)
        servers[0].kill()
        # Nobody waits for a node that is down and not needed.
        same(lockctl("quorum", "wait", "--json", url=servers.url).json["can_grant"], True)
        servers[1].kill()
        done = lockctl("quorum", "wait", "--for", "1s", url=servers.url, code=69)
        same((f"lockctl: waiting: {servers[1].url}: " in done.err, "1 of 3 nodes vote" in done.out), (True, True))
        done = lockctl("quorum", "wait", "--for", "1s", "--json", url=servers.url, code=69)
        same((done.json["can_grant"], done.err), (False, ""))
    lockctl("quorum", "wait", url="redis://127.0.0.1:1", code=78)


def states_of(shown):
    return {node["address"]: node["state"] for node in shown["nodes"]}


@test
def set_nodes_replaces_a_server_while_a_lock_is_held():
    with founded() as servers, Server() as new, held(servers.url, "k") as holder:
        nodes = [servers[0].url, servers[1].url, new.url]
        up = {url: "up" for url in nodes}
        shown = states_of(lockctl("quorum", "set-nodes", "--json", *nodes, url=servers.url).json)
        same({url: shown.get(url) for url in nodes}, up)
        # The one that the url names and the quorum does not is told as well, with what it is.
        same(states_of(lockctl("quorum", "status", "--json", url=servers.url).json), {**up, servers[2].url: "refused"})
        same(holder.is_running(), True)
        assert eventually(lambda: lockctl("quorum", "status", "--json", url="quorum:" + ",".join(nodes),
                                          code=None).json["voting"] == 3, 30)
        same(lockctl("info", "--json", "k", url="quorum:" + ",".join(nodes)).json["held"], True)


@test
def that_too_few_of_the_named_servers_are_left_in_the_quorum_is_said_by_whoever_is_asked():
    with founded() as servers, Server() as first, Server() as second:
        lockctl("quorum", "set-nodes", servers[0].url, first.url, second.url, url=servers.url)
        # Two of the url are none of its nodes any more, and not counted.
        shown = lockctl("quorum", "status", url=f"quorum:{servers[0].url},{first.url},{servers[1].url}").out
        same("3 of 3 nodes vote, 2 must grant" in shown and "refused" in shown, True)
        for server in servers.servers[1:]:
            server.kill()
        why = "of the 3 servers that are named, 1 belong to the quorum that answers"
        shown = eventually(lambda: why in lockctl("quorum", "status", url=servers.url, code=69).out, 30)
        same(shown, True)
        told = lockctl("quorum", "status", "--json", url=servers.url, code=69).json
        same((told["can_grant"], told["voting"], why in told["message"]), (False, 0, True))
        same(why in lockctl(*PATIENT, "ls", url=servers.url).err, True)
        same(why in lockctl(*PATIENT, "run", "-n", "k", "--", "true", url=servers.url, code=69).err, True)
        left = "quorum:" + ",".join(server.url for server in (servers[0], first, second))
        same(eventually(lambda: lockctl("run", "-n", "k", "--", "true", url=left, code=None).code == 0, 30), True)


@test
def passwords_of_nodes_are_shown_nowhere():
    secret = "s3cr3t-%21"
    with Quorum(3, "--requirepass", "s3cr3t-!", founded=False) as servers:
        url = "quorum:" + ",".join(f"redis://:{secret}@127.0.0.1:{server.port}/0" for server in servers.servers)
        said = [lockctl("quorum", "init", "--max-ttl", MAX_TTL, url=url)]
        for words in (["quorum", "status"], ["quorum", "status", "--json"], ["ping"], ["ping", "--json"], ["top"]):
            said.append(lockctl(*words, url=url))
        servers[0].kill()
        servers[1].kill()
        for words in (["quorum", "status"], ["ping"], ["run", "-n", "k", "--", "x"]):
            said.append(lockctl(*words, url=url, code=69))
        for done in said:
            same("s3cr3t" in done.out + done.err, False)


if __name__ == "__main__":
    main()
