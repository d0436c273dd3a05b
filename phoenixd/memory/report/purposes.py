"""What a command is for, by the names in it: `make docs` is not taken for one that ran the tests.

A target or script of a name that says nothing, or of one that gathers others (`ci`, `all`, `release`), may be for
everything.
"""

from __future__ import annotations

import re

PURPOSES: dict[str, str] = {
    word: purpose
    for purpose, words in {
        "test": "test tests testing unit integration e2e spec specs pytest unittest jest vitest mocha rspec phpunit"
        " ctest nextest junit cypress playwright karma ava tap bats coverage cov smoke minitest",
        "static": "lint linter lints eslint ruff flake8 pylint mypy pyright tsc types typecheck typing typecheckall"
        " stylelint style fmt format formatting prettier black isort clippy rubocop shellcheck hadolint vet staticcheck"
        " golangci precommit bandit biome xo standard yamllint markdownlint rustfmt gofmt",
        "build": "build builds compile bundle dist webpack rollup vite assets wheel sdist package proto protos codegen"
        " generate gen",
        "start": "dev start serve server watch preview app main index up restart demo repl shell storybook",
        "data": "migrate migration migrations makemigrations seed seeds db database fixtures backup restore import"
        " export etl",
        "docs": "docs doc mkdocs sphinx html pdf site changelog",
        "clean": "clean distclean purge reset",
        "setup": "install setup deps bootstrap init venv dependencies requirements",
        "speed": "bench benchmark benchmarks profile perf",
    }.items()
    for word in words.split()
}  # fmt: skip
GATHERING = frozenset(
    """
    all ci check checks verify qa validate validation default release publish deploy ship prepare prepublish prerelease
    everything pipeline gate full quality pre post precommit prepush commit done
""".split()
)
_WORD = re.compile(r"[a-z][a-z0-9]*")
_WHOLE = frozenset("gradle mvn sbt bazel pants buck2 lein mill ant tox nox docker podman buildah".split())
"""Runners whose builds test, or whose one word stands for many environments."""
_COMPILERS = frozenset({"tsc", "typecheck", "types"})
_APART = frozenset({"docs", "clean"})
"""What is done apart from a project's checks: a target for nothing else runs none that gathers them."""
MOST_WORDS = 4


def purposes_of(words: tuple[str, ...], program: str) -> frozenset[str]:
    """What a command may be for; empty where its names do not say it, or where it may gather others."""
    if program in _WHOLE or program == "docker compose":
        return frozenset()
    named = [word for word in (program, *words[1:]) if not word.startswith("-") and "=" not in word][:MOST_WORDS]
    tokens = {token for word in named for token in _WORD.findall(word.rsplit("/", 1)[-1].lower())}
    if GATHERING & tokens and not (program == "ruff" or program == "cargo"):
        return frozenset()
    found = frozenset(PURPOSES[token] for token in tokens if token in PURPOSES)
    # Builds of TypeScript check its types first.
    return found | {"build"} if _COMPILERS & tokens else found


def is_plausible(carrier: frozenset[str], claimed: frozenset[str], *, is_plain: bool) -> bool:
    """Whether a carrier of these purposes may have run a command of those. is_plain: the command is none of a
    project's own, such as git."""
    if not carrier:
        return True
    if not claimed and not is_plain and carrier <= _APART:
        return False
    return bool(carrier & claimed) if claimed else not is_plain
