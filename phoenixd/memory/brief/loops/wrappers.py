"""What stands around a check in a command line: runners of scripts, commands that run others, plain options."""

from __future__ import annotations

NO_WORDS: frozenset[str] = frozenset()

SCRIPT_RUNNERS: dict[str, frozenset[str]] = {
    "npm": frozenset(),
    "pnpm": frozenset("""
        add install i remove rm update up link unlink import audit outdated list ls why store config dlx exec create
        init licenses patch fetch prune rebuild root bin env setup server
    """.split()),
    "yarn": frozenset("""
        add install remove upgrade up link unlink audit outdated list why config dlx exec create init info cache set
        plugin workspaces node bin global import
    """.split()),
    "bun": frozenset("""
        add install i remove update link unlink pm x create init upgrade outdated repl
    """.split()),
}  # fmt: skip
"""Runners of a package's scripts, with their own verbs: another word is the name of a script. npm wants `run`."""

SCRIPT_VERBS = frozenset({"run", "run-script", "rum", "urn"})
NPM_SCRIPTS = {"test": "test", "t": "test", "tst": "test", "it": "test", "publish": "publish"}

SERVERS = frozenset({"dev", "start", "serve", "watch", "preview", "storybook", "develop"})
"""Scripts that by the convention of their ecosystem run until they are stopped: their end is no verdict."""

SAME = {
    "python3": "python", "python2": "python", "py": "python", "pypy3": "python", "gradlew": "gradle", "mvnw": "mvn",
    "mvnd": "mvn", "gmake": "make", "bazelisk": "bazel", "inv": "invoke", "platformio": "pio", "py.test": "pytest",
    "tofu": "terraform", "docker-compose": "docker compose", "flyctl": "fly", "sls": "serverless",
    "nosetests": "nose", "sequelize-cli": "sequelize",
}  # fmt: skip
"""Names of one program."""

WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C"}), 0),
    "doas": (frozenset({"-u"}), 0),
    "env": (frozenset({"-u", "-C"}), 0),
    "time": (frozenset({"-f", "-o"}), 0),
    "nice": (frozenset({"-n"}), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "chrt": (NO_WORDS, 1),
    "taskset": (frozenset({"-c"}), 1),
    "timeout": (frozenset({"-k", "-s", "--signal", "--kill-after"}), 1),
    "gtimeout": (frozenset({"-k", "-s"}), 1),
    "nohup": (NO_WORDS, 0),
    "stdbuf": (frozenset({"-o", "-e", "-i"}), 0),
    "unbuffer": (NO_WORDS, 0),
    "script": (NO_WORDS, 0),
    "command": (NO_WORDS, 0),
    "exec": (NO_WORDS, 0),
    "builtin": (NO_WORDS, 0),
    "caffeinate": (NO_WORDS, 0),
    "xvfb-run": (frozenset({"-s", "-n", "-e"}), 0),
    "dbus-run-session": (NO_WORDS, 0),
    "setsid": (NO_WORDS, 0),
    "direnv exec": (NO_WORDS, 1),
    "dotenv": (frozenset({"-e", "-f"}), 0),
    "cross-env": (NO_WORDS, 0),
    "npx": (frozenset({"-p", "--package", "-c"}), 0),
    "pnpx": (NO_WORDS, 0),
    "bunx": (NO_WORDS, 0),
    "npm exec": (NO_WORDS, 0),
    "npm x": (NO_WORDS, 0),
    "pnpm exec": (NO_WORDS, 0),
    "pnpm dlx": (NO_WORDS, 0),
    "yarn exec": (NO_WORDS, 0),
    "yarn dlx": (NO_WORDS, 0),
    "bun x": (NO_WORDS, 0),
    "uv run": (frozenset("--with --extra --group -p --python --project --directory --env-file".split()), 0),
    "uvx": (frozenset({"--with", "--from", "-p", "--python"}), 0),
    "uv tool run": (frozenset({"--with", "--from", "-p", "--python"}), 0),
    "pipx run": (frozenset({"--spec"}), 0),
    "poetry run": (NO_WORDS, 0),
    "pipenv run": (NO_WORDS, 0),
    "pdm run": (NO_WORDS, 0),
    "rye run": (NO_WORDS, 0),
    "hatch run": (NO_WORDS, 0),
    "pixi run": (frozenset({"-e"}), 0),
    "conda run": (frozenset({"-n", "-p"}), 0),
    "mamba run": (frozenset({"-n", "-p"}), 0),
    "bundle exec": (NO_WORDS, 0),
    "mise exec": (NO_WORDS, 0),
    "mise x": (NO_WORDS, 0),
    "asdf exec": (NO_WORDS, 0),
    "fvm": (NO_WORDS, 0),
    "opam exec": (NO_WORDS, 0),
    "stack exec": (NO_WORDS, 0),
    "coverage run": (frozenset({"--source", "--rcfile", "--omit", "--include"}), 0),
    "python -m": (NO_WORDS, 0),
    "docker compose exec": (frozenset({"-u", "--user", "-w", "--workdir", "-e", "--env", "--index"}), 1),
    "docker compose run": (frozenset({"-u", "--user", "-w", "--workdir", "-e", "--env", "--name", "-v"}), 1),
    "docker exec": (frozenset({"-u", "--user", "-w", "--workdir", "-e", "--env"}), 1),
    "podman exec": (frozenset({"-u", "--user", "-w", "--workdir", "-e", "--env"}), 1),
}  # fmt: skip
"""Commands that run another: their options that take a word, and how many words stand before the other command."""

INTERPRETERS = frozenset({"python", "php", "ruby", "node", "perl"})
"""Programs that are given a file to run: where the file's name is a program of the table, it is that program."""

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})

PLAIN_OPTIONS = frozenset("""
    -q -qq -v -vv -vvv -s -x -B -e -U -ntp --quiet --verbose --silent --debug --no-header --no-summary --stacktrace
    --info --exitfirst --color --colour --no-color --ci --no-cache --cache --no-daemon --offline --batch-mode
    --no-transfer-progress --nocapture -- --bail --fail-fast --no-fail-fast --if-present --locked --frozen --count
    --statistics --no-cov --pretty --yes -y -auto-approve --auto-approve -no-color --no-interaction --no-progress
    --progress -halt-on-error -pdf --keep-going --output-on-failure --parallel --rerun-tasks --no-build-cache
    --passWithNoTests --runInBand --exit-status --atomic --wait
""".split())  # fmt: skip
"""Options that say how much is printed or how fast it goes, and leave what is checked as it is."""

PLAIN_VALUES = frozenset("""
    -j -n --jobs --tb -r --reporter --format --color --maxfail --output-format --maxWorkers --workers --numprocesses
    --log-level --timeout --durations --retries --watch --watchAll --console -input -interaction -count
""".split())  # fmt: skip
"""The same with a value of their own."""

NARROWING = frozenset("""
    -k -t --grep --fgrep --filter --lf --last-failed --testNamePattern --test-name-pattern --testPathPattern
    --test-path-pattern --onlyChanged --only-changed --changed --deselect --ignore --ignore-glob --gtest_filter --shard
""".split())  # fmt: skip
"""Options that leave out some of what is checked without them. Marks, tags, groups and suites are none of them: a
project often leaves those out itself where no such option is given."""

NARROWING_OF: dict[str, frozenset[str]] = {
    "cargo": frozenset("-p --package --exclude --lib --bin --bins --test --doc --skip".split()),
    "go": frozenset({"-run", "-skip", "-short"}),
    "mvn": frozenset({"-pl", "-Dtest", "-Dit.test"}),
    "gradle": frozenset({"--tests", "-x"}),
    "ctest": frozenset({"-R", "-L", "-E"}),
    "mocha": frozenset({"-g", "-f"}),
    "playwright": frozenset({"-g", "--project"}),
    "xcodebuild": frozenset({"-only-testing", "-skip-testing"}),
    "dbt": frozenset({"-s", "--select", "--exclude"}),
    "bats": frozenset({"-f"}),
}
"""The same of one program, where others mean something else with them."""

DEMANDING = frozenset("""
    --cov --coverage --cov-report --cov-fail-under -race --max-warnings --strict --workspace --all --all-targets
""".split())  # fmt: skip
"""Options with which the same is checked, and more is asked of it."""

PLAIN_VARIABLES = frozenset("""
    CI TERM COLUMNS LINES LANG LC_ALL NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE PY_COLORS RUST_BACKTRACE RUST_LOG
    PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONPATH DEBIAN_FRONTEND DOCKER_BUILDKIT BUILDKIT_PROGRESS
    CARGO_TERM_COLOR NODE_NO_WARNINGS GIT_PAGER PAGER HUSKY DEBUG VERBOSE
""".split())  # fmt: skip
"""Variables that leave what is checked as it is; any other may turn a check on or off."""

OF_PLACES = frozenset({
    "docker build", "docker buildx build", "podman build", "buildah bud", "buildah build", "kustomize build",
    "helm lint", "helm template", "helm test", "helm install", "helm upgrade", "sam build", "packer build",
    "packer validate", "cmake --build", "cmake --install", "build", "dotnet build", "dotnet test", "dotnet publish",
    "dotnet pack", "msbuild", "nix build", "nix-build", "gcloud builds submit", "vercel deploy", "netlify deploy",
    "hugo", "sphinx-build", "gem build", "meson compile", "meson setup", "terraform apply", "conan build",
    "conan create",
})  # fmt: skip
"""Checks that take each path as a thing of its own: a pass in one directory says nothing of those below it."""

NO_RUN = frozenset({"--version", "-version", "--help", "-help"})
"""Options with which a program checks nothing."""
SAYS_MORE = frozenset("""
    pytest unittest nose nose2 tox nox mypy dmypy pylint flake8 bandit behave robot stestr ward trial phpunit ctest
    ninja prove go cargo just task rake mage bazel buck2 gradle lein sbt mill waf invoke tap ginkgo
""".split())  # fmt: skip
"""Programs that print more with `-v` alone; others tell their version, and check nothing."""
DRY = frozenset({"-n", "--dry-run", "--dryrun", "--just-print", "--recon"})
"""Options with which a runner of targets only says what it would do."""
ASKED_ONLY = frozenset({"-q", "--question", "-t", "--touch"})
"""The same of make, where other runners are quiet with them."""

WHOLE_PATHS = frozenset({".", "./", "./...", "...", "//...", ":/"})
"""Names of all that there is."""

LEFT_OUT_TARGETS = frozenset({"clean", ":clean"})
"""Targets that check nothing themselves."""
