"""Which programs may run others: where one of them ran, that a command was never run cannot be known.

A program that is in no list may run any other: unknown is no proof.
"""

from __future__ import annotations

import re

from phoenixd.memory.brief.loops.check import check_of, program_name
from phoenixd.memory.brief.loops.programs import PROGRAMS
from phoenixd.memory.brief.loops.wrappers import INTERPRETERS, SCRIPT_RUNNERS, SHELLS

PLAIN = frozenset({"phoenixctl"}) | frozenset(
    """
    : [ [[ alias apt apt-cache apt-get arch awk b2sum base64 basename bc bg blkid brew bzip2 c++filt cal cat cd chgrp
    chmod chown cksum clear cmp column comm cp crontab curl cut date dd declare df diff dig dirname dirs dmesg dnf dpkg
    du echo egrep expand export expr false fd fdfind fg fgrep file fmt fold free getconf getent getfacl git grep groups
    gunzip gzip hash head hexdump history host hostname htop iconv id ifconfig ip jobs join jq kill killall less let ln
    local locale locate ls lscpu lsof lspci man md5sum mkdir mkfifo mktemp more mount mv nc netstat nl nm nproc objdump
    od paste patch pgrep ping pip pip3 pkill popd printenv printf ps pstree pushd pwd pv read readelf
    readlink readonly realpath renice reset rev rg ripgrep rm rmdir rsync scp sed seq set sha1sum sha256sum sha512sum
    shasum shift shopt shuf size sleep sort split ss stat strings strip stty sum sync tac tail tar tee test touch tput
    tr trap tree true truncate tsort tty type ulimit umask uname uncompress unexpand uniq unlink unset unxz unzip uptime
    users vmstat wait wc wget whatis whereis which who whoami wslpath xxd xz yes yq yum zcat zip zipinfo zless zstd
    sqlite3 psql mysql redis-cli mongosh wall write node-gyp nvm pyenv rbenv asdf gpg openssl ssh-keygen ssh-add
    venv json.tool http.server compileall py_compile timeit ensurepip virtualenv poetry uv pdm conda mamba rustup
    corepack gofmt goimports autopep8 yapf pyupgrade docformatter autoflake cloc tokei scc pandoc dot convert ffmpeg
    aws az gsutil pg_dump pg_restore createdb dropdb psql mysqldump mongodump redis-server vim vi nano protoc sqlc buf
    systemctl journalctl service nvidia-smi lsb_release loginctl tmutil code exit return
""".split()
)
"""Programs that run nothing of the words they are given, or nothing that anybody would report as a run of its own."""

HOOKED = frozenset({"commit", "push", "merge", "rebase", "am", "cherry-pick", "pull"})
"""Subcommands of git that run the repository's hooks."""

CARRYING = frozenset(
    """
    xargs find parallel watch entr ssh tmux screen su flock strace ltrace perf gdb hyperfine kubectl expect at batch
    runuser setpriv unshare chroot systemd-run watchexec nodemon concurrently foreach doppler op aws-vault trap
""".split()
)
"""Programs that run what stands in their own words, and nothing else."""

RUN_BY_CHECKS = frozenset(
    """
    tox nox pre-commit act ansible-playbook nix nix-build nixos-rebuild skaffold turbo nx lerna mutmut stryker
    infection nyc c8 hatch meson cmake ninja waf west fastlane cap storybook wdio
""".split()
)
"""Checks whose own configuration names further programs."""

CONTAINERS = frozenset({"docker", "podman", "buildah", "docker compose"})
STARTED = frozenset({"build", "bud", "buildx", "run", "exec", "up"})
RUN_BY = frozenset({"run", "generate", "exec", "xtask", "make", "runner", "watch", "script", "x"})
"""Subcommands of known programs that run a program of the project's."""

INSTALLS = frozenset(
    """
    ci install i add remove uninstall update upgrade audit outdated ls list why config init link pack view info cache
    require dump-autoload validate show version help --version -v
""".split()
)
_RUNS_FOUND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ACTIVATES = re.compile(r"(?:^|/)activate(?:\.\w+)?$|(?:^|/)\.?(?:env|envrc|bashrc|profile|nvm\.sh)$")
_SUBSTITUTED = re.compile(r"\$\(|`|\$\{?[A-Za-z_]")
_WORD = re.compile(r"[\w./@:+-]+")


def may_run(words: tuple[str, ...], program: str, line: str) -> bool:
    """Whether a simple command of a line may run a program that does not stand at its head. words: without wrappers."""
    if not words:
        return False
    name, rest = program_name(words[0]), words[1:]
    if _SUBSTITUTED.search(words[0]) or name == "eval":
        return True
    check = check_of(words, None)
    if check is not None:
        head = check.key.split(" ", 1)[0]
        known = PROGRAMS.get(head)
        return head in RUN_BY_CHECKS or head in SCRIPT_RUNNERS or head in CONTAINERS or known is None or known.is_runner
    if name in CONTAINERS:
        return bool(STARTED & set(rest[:3]))
    if name in INTERPRETERS:
        return _interpreted(rest, program, line)
    if name in SHELLS:
        return not (rest and set(rest) <= {"-n", "--version"})
    if name in (".", "source"):
        return not (rest and _ACTIVATES.search(rest[0]))
    if name in SCRIPT_RUNNERS or name in ("composer", "bundle", "gem", "pod"):
        return bool(rest) and rest[0] not in INSTALLS
    if name == "find" and not _RUNS_FOUND & set(rest):
        return False
    if name in CARRYING:
        return _mentions(rest, program) or any(_carries(word) for word in rest)
    if name in PLAIN:
        return False
    known = PROGRAMS.get(name)
    if known is None or known.is_runner or name in RUN_BY_CHECKS:
        return not (rest and set(rest) <= {"--version", "-V", "--help", "version"})
    return bool(RUN_BY & set(rest[:1]))


def is_hooked(words: tuple[str, ...]) -> bool:
    """Whether a command runs hooks of the repository's, whose output tells which programs those were."""
    return len(words) > 1 and program_name(words[0]) == "git" and bool(HOOKED & set(words[1:4]))


def line_may_run(line: str, program: str) -> bool:
    """The same of a line that is not understood: by each of its words."""
    for word in _WORD.findall(line):
        name = program_name(word)
        if name == program or name in SHELLS or name in CARRYING or name in RUN_BY_CHECKS or _carries(word):
            return True
        if name in INTERPRETERS or name in SCRIPT_RUNNERS or name in ("eval", "source"):
            return True
        if (known := PROGRAMS.get(name)) is not None and known.is_runner:
            return True
    return False


def _interpreted(rest: tuple[str, ...], program: str, line: str) -> bool:
    """A program text is read, here or in a file; an interpreter that only tells of itself runs nothing."""
    is_here = "<<" in line
    if not rest or rest[0] == "-":
        return not is_here or names(line, program)
    if rest[0] in ("--version", "-V", "-v", "--help", "--check", "-l"):
        return False
    if rest[0] in ("-c", "-e", "-p", "-r", "--eval", "-ne", "-pe", "-i", "-pi") and len(rest) > 1:
        return names(line, program)
    return True


def _mentions(words: tuple[str, ...], program: str) -> bool:
    return any(names(word, program) for word in words)


def names(text: str, program: str) -> bool:
    """Whether a text holds a program's name as a word."""
    return re.search(rf"(?<![\w-]){re.escape(program)}(?![\w-])", text) is not None


def _carries(word: str) -> bool:
    """Whether a word may be a script, a shell or a runner."""
    if "*" in word:
        return False
    name = program_name(word)
    known = PROGRAMS.get(name)
    is_runner = name in SHELLS or (known is not None and known.is_runner)
    return is_runner or word.endswith((".sh", ".bash", ".py", ".js", ".rb", ".pl"))
