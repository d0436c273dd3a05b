"""The table of programs: which commands are checks (tests, builds, linters, type checkers, deploys, migrations, CI).

A program that is not here is no check, so that grep's 1 and an application's own exit code are no failures.
"""

from __future__ import annotations

from dataclasses import dataclass

NO_WORDS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Program:
    """How a program's command lines are read.

    subcommands: those that are checks, of one word or two; None: the program is a check whatever follows.
    is_runner: what follows names a target of the project's own (make TARGET), all of it the key. needs: one of these
    options makes it a check (black --check), and belongs to the key. values: options that take the next word.
    """

    subcommands: frozenset[str] | None = None
    is_runner: bool = False
    needs: frozenset[str] = NO_WORDS
    values: frozenset[str] = NO_WORDS
    modes: frozenset[str] = NO_WORDS
    """First words that say how it works, and not on what."""
    with_option: tuple[tuple[str, str], ...] = ()
    """Subcommands that are checks with that option alone, which then belongs to the key."""


def _of(subcommands: str, values: str = "", with_option: str = "") -> Program:
    named = frozenset(one.replace("_", " ") for one in subcommands.split())
    first, _, option = with_option.partition(" ")
    return Program(named, values=frozenset(values.split()), with_option=((first, option),) if option else ())


def _needs(options: str, subcommands: str | None = None) -> Program:
    named = frozenset(subcommands.split()) if subcommands is not None else None
    return Program(named, needs=frozenset(options.split()))


_WHOLE = Program()


def _mode(words: str) -> Program:
    return Program(modes=frozenset(words.split()))


_RUNNER = Program(
    is_runner=True,
    values=frozenset({"-C", "-f", "-j", "-l", "-o", "-p", "-pl", "--file", "--directory", "--project-dir"}),
)

ALWAYS = """
    pytest py.test unittest nose2 nosetests tox nox behave robot stestr ward trial mypy dmypy pyright basedpyright
    pyre pytype flake8 pylint pydocstyle pycodestyle pyflakes bandit vulture interrogate yamllint ansible-lint
    cfn-lint doc8 codespell twine lint-imports import-linter jest mocha ava tap jasmine karma wdio testcafe
    nightwatch tsc vue-tsc svelte-check tsd eslint xo standard stylelint htmlhint markdownlint markdownlint-cli2
    textlint commitlint oxlint jshint tslint knip depcheck webpack rollup parcel esbuild tsup nyc c8 publint attw
    phpunit pest paratest phpcs phan phpmd parallel-lint infection behat codecept rector rspec rubocop cucumber
    minitest brakeman reek standardrb sorbet srb staticcheck govulncheck revive gotestsum ginkgo ctest ninja
    swiftlint ktlint detekt checkstyle pdflatex xelatex lualatex latexmk tectonic bibtex biber chktex lacheck vale
    shellcheck bats hadolint actionlint tflint tfsec checkov kubeval kubeconform kube-linter conftest
    ansible-playbook flyway liquibase sqitch hlint credo elm-test elm-review scalafix scalastyle verilator iverilog
    clang-tidy cppcheck cpplint avrdude openocd busted luacheck perlcritic prove
""".split()
"""Programs that do nothing but check or build."""

RUNNERS = """
    make gmake just task rake mage invoke inv gradle mvn ant sbt lein mill bazel bazelisk buck2 pants please earthly
    scons waf idf pio platformio grunt gulp
""".split()
"""Programs whose targets are the project's own, or too many for a list."""

PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(ALWAYS, _WHOLE),
    **dict.fromkeys(RUNNERS, _RUNNER),
    "vitest": _mode("run"),
    "psalm": _WHOLE,
    "playwright": _of("test"),
    "phpstan": _of("analyse analyze"),
    "cypress": _of("run"),
    "golangci-lint": _of("run"),
    "pre-commit": _of("run"),
    "sqlfluff": _of("lint"),
    "turbo": _RUNNER, "nx": _RUNNER, "lerna": _RUNNER, "xcodebuild": _RUNNER,
    "west": _of("build twister flash", "-b"),
    "cargo": _of("test build check clippy bench doc nextest nextest_run llvm-cov deny audit publish miri fuzz fuzz_run"
                 " fuzz_build tarpaulin udeps semver-checks hack", "--manifest-path -Z", "fmt --check"),
    "rustc": _WHOLE,
    "go": _of("test build vet generate install", "-C"),
    "dotnet": _of("test build publish pack msbuild", with_option="format --verify-no-changes"),
    "msbuild": _WHOLE,
    "swift": _of("test build"),
    "flutter": _of("test analyze build drive", "-d"),
    "dart": _of("test analyze compile", with_option="format --set-exit-if-changed"),
    "deno": _of("test lint check compile bench", with_option="fmt --check"),
    "mix": _of("test compile credo dialyzer ecto.migrate release", with_option="format --check-formatted"),
    "rebar3": _of("eunit ct compile dialyzer xref"),
    "gleam": _of("test build check"),
    "stack": _of("test build"),
    "cabal": _of("test build check"),
    "zig": _of("test build"),
    "nim": _of("c cpp js check"),
    "dune": _of("test build runtest"),
    "opam": _of("lint"),
    "elm": _of("make"),
    "cmake": _needs("--build --install"),
    "meson": _of("test compile setup"),
    "conan": _of("build create"),
    "vcpkg": _of("install"),
    "gcc": _WHOLE, "g++": _WHOLE, "clang": _WHOLE, "clang++": _WHOLE, "javac": _WHOLE, "kotlinc": _WHOLE,
    "scalac": _WHOLE,
    "composer": Program(is_runner=True),
    "artisan": _of("test migrate migrate:fresh migrate:refresh dusk"),
    "console": _of("lint:twig lint:yaml lint:container doctrine:migrations:migrate doctrine:schema:validate"),
    "php": _needs("-l"),
    "rails": _of("test test:all db:migrate db:schema:load db:seed assets:precompile zeitwerk:check"),
    "manage.py": _of("test migrate check makemigrations collectstatic"),
    "django-admin": _of("test migrate check"),
    "flask": _of("db_upgrade db_migrate"),
    "alembic": _of("upgrade downgrade check"),
    "aerich": _of("upgrade"),
    "prisma": _of("migrate_deploy migrate_dev db_push validate generate"),
    "drizzle-kit": _of("migrate push check generate"),
    "knex": _of("migrate:latest migrate:up"),
    "sequelize": _of("db:migrate"),
    "typeorm": _of("migration:run"),
    "dbmate": _of("up migrate"),
    "goose": _of("up"),
    "migrate": _of("up"),
    "atlas": _of("migrate_apply migrate_lint schema_apply"),
    "psql": _needs("-f --file"),
    "dbt": _of("run test build compile seed snapshot parse source_freshness"),
    "ruff": _of("check", with_option="format --check"),
    "black": _needs("--check"),
    "isort": _needs("--check --check-only -c"),
    "prettier": _needs("--check -c --list-different -l"),
    "biome": _of("check lint ci"),
    "rustfmt": _needs("--check"),
    "shfmt": _needs("-d"),
    "clang-format": _needs("--dry-run -n"),
    "php-cs-fixer": _needs("--dry-run"),
    "pint": _needs("--test"),
    "vite": _of("build"),
    "next": _of("build lint"),
    "nuxt": _of("build typecheck"),
    "nuxi": _of("build typecheck"),
    "astro": _of("build check"),
    "ng": _of("test build lint e2e"),
    "gatsby": _of("build"),
    "remix": _of("build"),
    "docusaurus": _of("build"),
    "eleventy": _WHOLE,
    "hugo": _WHOLE,
    "jekyll": _of("build"),
    "mkdocs": _of("build gh-deploy"),
    "sphinx-build": _WHOLE,
    "expo": _of("export prebuild doctor"),
    "eas": _of("build submit update"),
    "react-native": _of("build-android build-ios"),
    "node": _needs("--test --check"),
    "storybook": _of("build"),
    "terraform": _of("validate plan apply destroy test", with_option="fmt -check"),
    "terragrunt": _of("validate plan apply run-all"),
    "pulumi": _of("up preview"),
    "cdk": _of("synth deploy diff"),
    "sam": _of("build deploy validate"),
    "serverless": _of("deploy package"),
    "cdktf": _of("deploy synth"),
    "packer": _of("validate build"),
    "promtool": _of("check_rules check_config test_rules"),
    "amtool": _of("check-config"),
    "kubectl": _of("apply rollout_status rollout_restart create replace wait", "-n --namespace --context"),
    "oc": _of("apply rollout_status", "-n --namespace"),
    "helm": _of("upgrade install lint test template uninstall rollback dependency_build", "-n --namespace"),
    "helmfile": _of("apply sync lint"),
    "kustomize": _of("build"),
    "argocd": _of("app_sync app_wait"),
    "flux": _of("reconcile"),
    "skaffold": _of("build run"),
    "docker": _of("build buildx_build compose_build compose_up push"),
    "podman": _of("build push"),
    "buildah": _of("bud build"),
    "nix": _of("build flake_check"),
    "nix-build": _WHOLE,
    "nixos-rebuild": _of("switch build test"),
    "gh": _of("run_watch run_view pr_checks workflow_run release_create"),
    "glab": _of("ci_status"),
    "act": _WHOLE,
    "vercel": _of("build deploy"),
    "netlify": _of("build deploy"),
    "wrangler": _of("deploy publish"),
    "firebase": _of("deploy"),
    "fly": _of("deploy"),
    "heroku": _of("container:push container:release"),
    "gcloud": _of("app_deploy builds_submit run_deploy"),
    "cap": _of("production staging"),
    "fastlane": _RUNNER,
    "pod": _of("lib_lint"),
    "adb": _of("install"),
    "arduino-cli": _of("compile upload"),
    "probe-rs": _of("run download"),
    "espflash": _of("flash"),
    "poetry": _of("build publish check"),
    "uv": _of("build publish"),
    "hatch": _of("test build fmt"),
    "pdm": _of("build"),
    "build": _WHOLE,
    "gem": _of("build push"),
    "crystal": _of("spec build"),
    "shards": _of("build"),
}  # fmt: skip
