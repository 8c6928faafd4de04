#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a commit to programs of others: the tarball that meson makes has every file of the commit, Debian's own tools
make packages of it that lintian has nothing against, and dpkg installs them, below a root of their own, so that the
README's programs build and run; removed, they leave nothing.

DEB_BUILD_OPTIONS of the environment says how they are built. Usage: packages.py BUILD_DIRECTORY VERSION. Prints TAP.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile

from installed import Tap, run, said

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def make_tarball(tap, build, version, directory):
    """The unpacked tarball, beside itself under the name that Debian's tools look for."""
    done = run(["meson", "dist", "-C", build, "--no-tests", "--allow-dirty", "--formats", "gztar"])
    tap.rule("meson_makes_a_tarball", said(done))
    tarball = pathlib.Path(build, "meson-dist", f"liblock-{version}.tar.gz")
    if tap.failed:
        return None
    shutil.copy(tarball, directory / f"liblock_{version}.orig.tar.gz")
    tap.rule("it_can_be_unpacked", said(run(["tar", "-xzf", tarball, "-C", directory])))
    source = directory / f"liblock-{version}"
    committed = set(run(["git", "-C", ROOT, "ls-tree", "-r", "--name-only", "-z", "HEAD"]).stdout.split("\0")) - {""}
    there = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_symlink() or path.is_file()}
    tap.rule("the_tarball_has_the_files_of_the_commit_and_no_others", sorted(committed ^ there))
    return source


def make_packages(tap, source, version):
    changelog = (source / "debian/changelog").read_text(encoding="utf-8").splitlines()[0]
    tap.rule("debian_and_the_header_say_the_same_version", [] if f"({version}-" in changelog else [changelog])
    done = run(["dpkg-buildpackage", "-us", "-uc"], cwd=source, env={**os.environ, "LC_ALL": "C.UTF-8"})
    tap.rule("debians_tools_build_the_packages", [] if done.returncode == 0 else said(done)[-60:])
    packages = sorted(path for path in source.parent.glob("*.deb") if "-dbgsym_" not in path.name)
    names = [path.name.split("_")[0] for path in packages]
    control = (source / "debian/control").read_text(encoding="utf-8")
    wanted = sorted(re.findall(r"^Package: (.*)$", control, re.MULTILINE))
    tap.rule("every_package_of_the_control_file_is_there", [] if names == wanted else [f"{names}, not {wanted}"])
    changes = next(iter(source.parent.glob("*.changes")), "none")
    done = run(["lintian", "--allow-root", "--fail-on", "error,warning", "--info", str(changes)])
    tap.rule("lintian_has_nothing_against_them", said(done))
    return packages


class Dpkg:
    """dpkg with a database and a root of its own; what the packages depend on is the machine's."""

    def __init__(self, root):
        self.root = root
        for folder in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()

    def __call__(self, *arguments):
        return run(["dpkg", f"--root={self.root}", "--force-depends", "--force-not-root", "--force-script-chrootless",
                    "--log=/dev/null", *map(str, arguments)])

    def files(self):
        return [path for path in self.root.rglob("*") if path.is_file() and "/var/lib/dpkg" not in str(path)]


def programs_of_readme(tap, root, source, version):
    libraries = next((root / "usr/lib").rglob("liblock.so.0")).parent
    done = run([root / "usr/bin/lockctl", "--version"], env={"LD_LIBRARY_PATH": str(libraries)})
    tap.rule("the_installed_lockctl_runs", said(done) or ([] if version in done.stdout else [repr(done.stdout)]))
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(libraries / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(root),
                   "LD_LIBRARY_PATH": str(libraries), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
                   "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
    done = run(["sh", "debian/tests/programs"], cwd=source, env=environment)
    lines = re.findall(r"^(ok|not ok) \d+ - (.*)$", done.stdout, re.MULTILINE)
    for outcome, name in lines:
        tap.rule(f"installed: {name}", [] if outcome == "ok" else done.stdout.splitlines())
    tap.rule("the_tests_of_the_packages_end_well", said(done) or ([] if lines else ["no test ran"]))


def main():
    build, version = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        source = make_tarball(tap, build, version, directory)
        packages = [] if source is None else make_packages(tap, source, version)
        if tap.failed:
            tap.finish()
        dpkg = Dpkg(directory / "root")
        tap.rule("dpkg_installs_them", said(dpkg("--install", *packages)))
        programs_of_readme(tap, dpkg.root, source, version)
        done = dpkg("--purge", *[path.name.split("_")[0] for path in packages])
        tap.rule("dpkg_removes_them_and_nothing_stays", said(done) or [str(path) for path in dpkg.files()])
    tap.finish()


if __name__ == "__main__":
    main()
