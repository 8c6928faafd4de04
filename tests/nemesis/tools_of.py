# SPDX-License-Identifier: MIT
"""The programs that the nemesis needs beside Python: those of the build, and those that the toolchains of other
languages make of workers/ and judge/, where they are there. What is missing is named, and left out."""
import os
import pathlib
import shutil
import subprocess

from harness import Agent

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def made(what, words, folder, environment):
    """Whether the command made it; why not is printed."""
    told = subprocess.run(words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    for line in (told.stdout + told.stderr).splitlines()[-10:] if told.returncode else []:
        print(f"# {what}: {line}", flush=True)
    return told.returncode == 0


class Tools:
    """missing: {what is left out: why}"""

    def __init__(self, build, languages=True):
        self.build = pathlib.Path(build).resolve()
        self.place = self.build / "nemesis"
        self.place.mkdir(exist_ok=True)
        self.missing = {}
        Agent.program = str(self.build / "tests/integration/integration-agent")
        self.programs = {"c": [str(self.build / "tests/integration/integration-client")]}
        self.check = str(self.build / "tests/support/intervals/check-intervals")
        self.clock = str(self.build / "tests/nemesis/stepped-clock.so")
        self.judge = self.go("judge", HERE / "judge", {})
        if languages:
            self.add_languages()

    def go(self, what, folder, environment):
        program = str(self.place / what)
        if not shutil.which("go"):
            self.missing[what] = "there is no Go"
        elif made(what, ["go", "build", "-o", program, "."], folder, environment):
            return program
        else:
            self.missing[what] = "it cannot be built"
        return None

    def library(self):
        """So that the languages' tools find the library of this build, which need not be installed: meson's own file
        for that tells where it will be."""
        told = (self.build / "meson-uninstalled/liblock-uninstalled.pc").read_text()
        kept = [line for line in told.splitlines() if line.startswith(("Name:", "Description:", "Version:"))]
        libraries, headers = f"Libs: -L{self.build}/capi -llock", f"Cflags: -I{ROOT}/capi/include"
        (self.place / "liblock.pc").write_text("\n".join([*kept, libraries, headers]) + "\n")
        return {"PKG_CONFIG_PATH": str(self.place), "CARGO_TARGET_DIR": str(self.place / "cargo")}

    def add_languages(self):
        environment = self.library()
        worker = self.go("go-worker", HERE / "workers/go", environment)
        at_run = ["env", f"LD_LIBRARY_PATH={self.build}/capi"]
        if worker:
            self.programs["go"] = [*at_run, worker]
        if not shutil.which("cargo"):
            self.missing["rust-worker"] = "there is no cargo"
        elif made("rust-worker", ["cargo", "build", "-q", "--offline"], HERE / "workers/rust", environment):
            self.programs["rust"] = [*at_run, str(self.place / "cargo/debug/worker")]
        else:
            self.missing["rust-worker"] = "it cannot be built"
        ruby = ["env", f"LIBLOCK_LIBRARY={self.build}/capi/liblock.so", "ruby", f"-I{ROOT}/bindings/ruby/lib",
                str(HERE / "workers/worker.rb")]
        if made("ruby-worker", [*ruby, "--loads"], HERE, {}):
            self.programs["ruby"] = ruby
        else:
            self.missing["ruby-worker"] = "Ruby with the ffi gem is not here"
