# SPDX-License-Identifier: MIT
"""The lock clients that are compared over servers: how each is had, and how it is called. They come through the
ordinary clients of their registries, in the versions that stand in the files of bench/peers/remote and tests/interop;
one that cannot be had is missing by name, with the reason, and the others are compared without it.

Whatever each of them polls with is its own default, unless a contest asks for another delay."""

import os
import pathlib
import shutil
import subprocess
from dataclasses import dataclass
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "bench" / "peers" / "remote"
INTEROP = ROOT / "tests" / "interop"
# What the interop suite installs is installed once for both.
INSTALLED = ROOT / "build" / "interop"
INSTALL_LIMIT_S = 900


class Missing(Exception):
    """Why a client cannot be had here."""


@dataclass(frozen=True)
class Client:
    name: str
    command: Callable  # of the build directory of liblock: the words before PORTS; raises Missing
    variant: str = ""
    slowest_poll_ms: int = 0  # the longest that it sleeps between two looks by its defaults; 0 = it is told
    peer: bool = True         # a library that somebody would use, not a floor and not liblock
    nightly: bool = False
    over: tuple = ("redis",)  # and "quorum"


def tool(program):
    if not shutil.which(program):
        raise Missing(f"there is no {program}")


def done(*command, cwd=None, **environment):
    """Runs one step of an installation."""
    try:
        ended = subprocess.run([str(word) for word in command], cwd=cwd, text=True, timeout=INSTALL_LIMIT_S,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{command[0]}: {error}") from error
    if ended.returncode != 0:
        lines = ended.stdout.strip().splitlines() or ["no output"]
        raise Missing(f"{' '.join(map(str, command[:3]))} failed: {lines[-1]}")


def from_meson(name):
    def command(build):
        program = pathlib.Path(build) / "bench" / "peers" / "remote" / f"peer-{name}"
        if not program.exists():
            raise Missing(f"{program.name} is not built")
        return [str(program)]
    return command


def redis_py(_build):
    python = INSTALLED / "venv" / "bin" / "python"
    if not python.exists():
        done("python3", "-m", "venv", INSTALLED / "venv")
    done(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", INTEROP / "requirements.txt")
    return [str(python), str(SOURCES / "redis_py.py")]


def in_go(name):
    def command(_build):
        tool("go")
        program = INSTALLED / "peers" / name
        done("go", "build", "-mod=mod", "-o", program, f"./{name}", cwd=SOURCES / "go", GOWORK="off")
        return [str(program)]
    return command


def node_redlock(_build):
    tool("npm")
    folder = INSTALLED / "node"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(INTEROP / "node-redlock" / "package.json", folder)
    if not (folder / "node_modules" / "redlock").exists():
        done("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", cwd=folder)
    return ["env", f"INTEROP_MODULES={folder / 'node_modules'}", "node", str(SOURCES / "node_redlock.mjs")]


def rslock(_build):
    tool("cargo")
    target = INSTALLED / "rust"
    done("cargo", "build", "-q", "--release", "--target-dir", target, cwd=SOURCES / "rust")
    return [str(target / "release" / "peer-rslock")]


def redisson(_build):
    tool("mvn")
    target = INSTALLED / "redisson"
    done("mvn", "-q", "-B", f"-Dpeers.target={target}", "package", cwd=SOURCES / "redisson")
    return ["java", "-jar", str(target / "peer-redisson.jar")]


BOTH = ("redis", "quorum")
LIBLOCK = Client("liblock", from_meson("liblock"), peer=False, over=BOTH)
CLIENTS = (
    LIBLOCK,
    Client("liblock without awaiting releases", from_meson("liblock"), "release_async", peer=False, over=BOTH),
    Client("hiredis sync", from_meson("hiredis"), peer=False),
    Client("redsync", in_go("redsync"), slowest_poll_ms=250, over=BOTH),
    Client("redislock", in_go("redislock"), slowest_poll_ms=100),
    Client("redis-py", redis_py, slowest_poll_ms=100),
    Client("node-redlock", node_redlock, slowest_poll_ms=300, over=BOTH),
    Client("rslock", rslock, slowest_poll_ms=200, over=BOTH),
    Client("Redisson RLock", redisson, "RLock", nightly=True),
    Client("Redisson FairLock", redisson, "FairLock", nightly=True),
    Client("Redisson FencedLock", redisson, "FencedLock", nightly=True),
    Client("Redisson RedLock", redisson, "RedLock", nightly=True, over=("quorum",)),
)
