# SPDX-License-Identifier: MIT
"""Every process in a network namespace of its own, all on one bridge: packets of one to another are lost for as long as
that one's address is given a machine that does not exist. Cut and mended as the lines of a switchboard are, but by the
kernel: what is lost is sent again, connections that are being made hang, nobody is told. Takes root and `ip`."""
import contextlib
import os
import re
import subprocess

NOBODY = "02:00:00:00:00:01"


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Islands:
    """Of these names, those of the servers first: server number N is the Nth."""

    def __init__(self, names):
        self.names = list(names)
        self.mark = f"ll{os.getpid()}"
        self.stack = contextlib.ExitStack()
        self.late = self.slowed = self.resets = self.reshaped = 0  # nobody counts packets here
        remove_left_ones()
        try:
            self.make("hub")
            ip("-n", self.of("hub"), "link", "add", "bridge", "type", "bridge")
            ip("-n", self.of("hub"), "link", "set", "bridge", "up")
            for name in self.names:
                self.make(name)
                self.connect(name)
        except BaseException:
            self.stack.close()
            raise

    @property
    def held_up(self):
        """What was sent again: without faults nothing is lost here."""
        def sent_again(name):
            said = subprocess.run([*self.within(name), "cat", "/proc/net/snmp"], check=True, capture_output=True,
                                  text=True).stdout
            heads, figures = [line.split() for line in said.splitlines() if line.startswith("Tcp:")]
            return int(figures[heads.index("RetransSegs")])
        return sum(map(sent_again, self.names))

    def of(self, name):
        return f"{self.mark}-{name}"

    def make(self, name):
        ip("netns", "add", self.of(name))
        self.stack.callback(ip, "netns", "del", self.of(name))

    def connect(self, name):
        port = f"to-{self.names.index(name)}"
        ip("link", "add", port, "netns", self.of("hub"), "type", "veth", "peer", "name", "eth0", "netns", self.of(name))
        ip("-n", self.of("hub"), "link", "set", port, "master", "bridge", "up")
        ip("-n", self.of(name), "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            ip("-n", self.of(name), "link", "set", link, "up")

    def address(self, name):
        return f"10.213.7.{10 + self.names.index(name)}"

    def within(self, name):
        """The words before a command that is to run there."""
        return ["ip", "netns", "exec", self.of(name)]

    def ways(self, client, number, directions):
        server = self.names[number]
        return [(client, server) if direction == "up" else (server, client) for direction in directions]

    def cut(self, client, number, directions=("up", "down")):
        for sender, receiver in self.ways(client, number, directions):
            self.neighbour(sender, "replace", receiver, "lladdr", NOBODY, "nud", "permanent")

    def mend(self, client, number, directions=("up", "down")):
        for sender, receiver in self.ways(client, number, directions):
            with contextlib.suppress(subprocess.CalledProcessError):  # the other one of two cuts has ended
                self.neighbour(sender, "del", receiver)

    def neighbour(self, sender, verb, receiver, *words):
        ip("-n", self.of(sender), "neigh", verb, self.address(receiver), "dev", "eth0", *words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()


def remove_left_ones():
    """Those of processes that were killed."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    for name, process in re.findall(r"^(ll(\d+)-\S+)", listed.stdout, re.MULTILINE):
        if not os.path.exists(f"/proc/{process}"):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


TRY = "ip link add one type veth peer name other && ip link add two type bridge && mount -t sysfs none /sys"


def machine_allows():
    """Whether we may make a network namespace, what connects it, and the mounts that belong to it: by other means than
    those with which we do."""
    try:
        return subprocess.run(["unshare", "--net", "--mount", "sh", "-c", TRY], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def can_be_made():
    """Where the machine allows it, by being made: what fails then is ours, and is no reason to go without."""
    if not machine_allows():
        return False
    with Islands(["probe"]):
        return True
