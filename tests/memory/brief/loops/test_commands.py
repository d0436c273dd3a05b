"""Command lines as checks: their keys, and what an exit code says of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.memory.brief.loops.commands import checks_in, keys_in, verdict


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("npm test", "npm test"),
        ("npm run test", "npm test"),
        ("npm run lint -- --fix", "npm run lint"),
        ("pnpm typecheck", "pnpm typecheck"),
        ("pnpm exec playwright test e2e", "playwright test"),
        ("yarn jest src", "jest"),
        ("npx vitest run src/cart", "vitest"),
        ("cd web && npm --prefix x test", "npm test"),
        ("CI=1 FOO='a b' pytest -q", "pytest"),
        ("python3.11 -m pytest tests", "pytest"),
        ("uv run --extra dev ruff check .", "ruff check"),
        ("poetry run mypy src", "mypy"),
        ("sudo -u ci timeout -k 5 60 docker compose exec -T web pytest", "pytest"),
        ("time nice -n 5 make -j8 test", "make test"),
        ("bash -lc 'set -e && cargo clippy -- -D warnings'", "cargo clippy"),
        ("cargo +nightly fmt --check", "cargo fmt --check"),
        ("go test ./...", "go test"),
        ("./mvnw -q clean verify", "mvn verify"),
        ("./gradlew :app:assembleDebug", "gradle :app:assembleDebug"),
        ("dotnet test -c Release", "dotnet test"),
        ("cmake --build build -j4", "cmake --build"),
        ("bazel test //...", "bazel test //..."),
        ("vendor/bin/phpunit --filter A", "phpunit"),
        ("php artisan test", "artisan test"),
        ("php -l a.php", "php -l"),
        ("bundle exec rspec spec", "rspec"),
        ("bin/rails db:migrate", "rails db:migrate"),
        ("python manage.py migrate", "manage.py migrate"),
        ("mix test", "mix test"),
        ("swift build", "swift build"),
        ("flutter build apk", "flutter build"),
        ("terraform fmt -check", "terraform fmt -check"),
        ("terraform -chdir=infra apply x.plan", "terraform apply"),
        ("kubectl -n shop rollout status deploy/x", "kubectl rollout status"),
        ("helm upgrade a b -f c.yaml", "helm upgrade"),
        ("ansible-playbook site.yml", "ansible-playbook"),
        ("docker build -t x .", "docker build"),
        ("psql -h db -f a.sql", "psql -f"),
        ("alembic upgrade head", "alembic upgrade"),
        ("idf.py -p /dev/ttyUSB0 build", "idf build"),
        ("latexmk -pdf main.tex", "latexmk"),
        ("gh run watch --exit-status", "gh run watch"),
        ("black --check .", "black --check"),
        ("(cd x && tox -e py311)", "tox"),
        ("dbt test --select a", "dbt test"),
        ("cat > a <<EOF\npytest x\nEOF\nmake test", "make test"),
    ],
)
def test_the_key_of_a_check(line: str, key: str) -> None:
    assert keys_in(line) == (key,)


@pytest.mark.parametrize(
    "line",
    [
        "grep -rn TODO src", "ls x | grep y", "diff a b", "git diff --exit-code", "test -f x", "black .", "psql -c 'x'",
        "npm run dev", "pnpm dev", "npm start", "yarn add x", "npm install", "cargo run -- check a", "python a.py",
        "git push", "curl -f http://x", "terraform fmt", "kubectl get pods", "docker run x", "ruff format", "", "'",
        "echo pytest", "rg 'cargo test' .", "cat make",
    ],
)  # fmt: skip
def test_what_is_no_check(line: str) -> None:
    assert keys_in(line) == ()
    assert verdict(line, 1, failed=True) is None


@pytest.mark.parametrize(
    ("line", "code", "passed"),
    [
        ("pytest", 1, False),
        ("pytest", 0, True),
        ("pytest | tail -5", 0, None),
        ("pytest | tail -5", 1, None),
        ("set -o pipefail; pytest | tail -5", 1, False),
        ("pytest || true", 0, None),
        ("pytest || exit 1", 0, True),
        ("pytest || exit 1", 1, False),
        ("pytest; echo done", 0, None),
        ("echo go; pytest", 1, False),
        ("cd x && pytest", 1, False),
        ("pytest && git push", 0, True),
        ("pytest &", 0, None),
        ("pytest > log 2>&1", 1, False),
        ("timeout 60 pytest", 124, None),
        ("pytest", 130, None),
        ("for x in 1 2; do pytest; done", 1, None),
        ("if pytest; then echo x; fi", 1, None),
        ("! pytest", 1, None),
        ("echo $(pytest)", 1, None),
    ],
)
def test_what_an_exit_code_says(line: str, code: int, passed: bool | None) -> None:
    told = verdict(line, code, failed=code != 0)

    assert (told.passed if told is not None else None) is passed


@pytest.mark.parametrize(
    ("passed", "failed", "is_proof"),
    [
        ("pytest", "pytest tests/a.py -k b", True),
        ("pytest tests/a.py", "pytest", False),
        ("pytest tests/b.py", "pytest tests/a.py", False),
        ("pytest tests", "pytest tests/a.py::test_b", True),
        ("pytest -k b", "pytest", False),
        ("pytest -q -x", "pytest", True),
        ("pytest -n 4", "pytest", True),
        ("pytest tests/a.py tests/b.py", "pytest tests/a.py", True),
        ("pytest tests/a.py", "pytest tests/a.py tests/b.py", False),
        ("go test ./...", "go test ./ledger/...", True),
        ("cargo test --workspace", "cargo test parser", True),
        ("cargo build", "cargo test", False),
        ("cd a && npm test", "cd b && npm test", False),
        ("cd a && npm test", "npm test", False),
        ("npm test", "cd a && npm test", False),
        ("cd a && cd b && npm test", "cd a/b && npm test", True),
        ("flutter build apk", "flutter build ios", False),
        ("kubectl apply --dry-run=server -f a.yaml", "kubectl apply -f a.yaml", False),
        ("make test", "make lint", False),
    ],
)
def test_what_a_pass_proves_of_a_failure(passed: str, failed: str, is_proof: bool) -> None:
    assert checks_in(passed)[0].covers(checks_in(failed)[0]) is is_proof


@given(st.text(st.sampled_from("ab &|;()'\"\\<>$`\n-=/{}!0129"), max_size=120), st.integers(0, 255))
def test_no_line_is_too_odd(line: str, code: int) -> None:
    verdict(line, code, failed=code != 0)
    verdict(f"pytest {line}", code, failed=code != 0)
    keys_in(f"bash -c '{line}'")
