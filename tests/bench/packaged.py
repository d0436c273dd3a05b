"""runit and s6, from Debian's packages: installed, else unpacked into a cache, where nothing of the host's changes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.bench.arena import children_of
from tests.bench.peers import Spawned, Unavailable, cache_directory

RUNIT = ("runit",)
S6_PARTS = ("s6", "libs6-2.11", "libskarnet2.13", "libexecline2.9", "execline")


def unpacked(packages: tuple[str, ...]) -> Path:
    """The directory that stands for / of these packages; raises Unavailable."""
    place = cache_directory() / packages[0]
    if (place / "complete").exists():
        return place
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Unavailable(f"{packages[0]} is not installed, and there is no apt-get")
    place.mkdir(exist_ok=True)
    done = subprocess.run(["apt-get", "download", *packages], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{packages[0]} is not installed, and apt-get could not download it; apt-get update may help")
    for package in place.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(place)], check=True)
    (place / "complete").touch()
    return place


def environment(program: str, packages: tuple[str, ...]) -> dict[str, str]:
    """Variables with which the program and its companions are found."""
    if shutil.which(program) is not None:
        return dict(os.environ)
    root = unpacked(packages)
    path = [str(root / part) for part in ("usr/bin", "bin", "usr/sbin", "sbin")]
    libraries = [str(library) for part in ("lib", "usr/lib") for library in (root / part).glob("*-linux-gnu*")]
    return {**os.environ, "PATH": ":".join([*path, os.environ["PATH"]]), "LD_LIBRARY_PATH": ":".join(libraries)}


class _Services(Spawned):
    """A supervisor that keeps a small process for each directory of a service."""

    program: str
    packages: tuple[str, ...]

    def start(self, child: Path, births: str, names: list[str]) -> None:
        self.variables = environment(self.program, self.packages)
        self.services = self.root / "services"
        for name in names:
            service = self.services / name
            service.mkdir(parents=True)
            (service / "run").write_text(f"#!/bin/sh\nexec {child} {births} {name}\n")
            (service / "run").chmod(0o755)
        self.begin()

    def begin(self) -> None:
        raise NotImplementedError

    def found(self, program: str) -> str:
        path = shutil.which(program, path=self.variables["PATH"])
        if path is None:
            raise Unavailable(f"{program} is not in Debian's package {self.packages[0]}")
        return path

    def environ(self) -> dict[str, str]:
        return self.variables


class Runit(_Services):
    name, program, packages = "runit", "runsvdir", RUNIT

    def begin(self) -> None:
        self.launch([self.found(self.program), str(self.services)], self.variables)

    def own_pids(self) -> list[int]:
        top = super().own_pids()
        return [*top, *(pid for one in top for pid in children_of(one))]

    def status_argv(self) -> list[str] | None:
        services = sorted(str(path) for path in self.services.iterdir())
        return [self.found("sv"), "status", *services]

    def stop(self) -> None:
        """SIGHUP has it end each runsv, and with it the children."""
        if self.process is not None:
            self.process.send_signal(signal.SIGHUP)
            self.process.wait(30)


class S6(_Services):
    """Without its scanner, which looks for s6-supervise where the package would install it."""

    name, program, packages = "s6", "s6-supervise", S6_PARTS

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.supervisors: list[subprocess.Popen[bytes]] = []

    def begin(self) -> None:
        for service in sorted(self.services.iterdir()):
            self.launch([self.found(self.program), str(service)], self.variables)
            assert self.process is not None
            self.supervisors.append(self.process)

    def own_pids(self) -> list[int]:
        return [one.pid for one in self.supervisors]

    def status_argv(self) -> list[str] | None:
        return None

    def stop(self) -> None:
        for one in self.supervisors:
            one.terminate()
        for one in self.supervisors:
            one.wait(30)
