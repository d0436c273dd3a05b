"""What looks like a proof that a loop is closed, and is none."""

from __future__ import annotations

import pytest

from phoenixd.documents.deeds import FileWritten, PlanAnswered, PlanProposed, Question, QuestionAsked
from phoenixd.documents.resolved import Resolution
from phoenixd.documents.state import resolve_loop
from phoenixd.documents.times import timestamp, utc_date
from phoenixd.documents.workspace import GitSummary
from phoenixd.memory.brief.closing import settle
from phoenixd.memory.brief.loops.alike import names
from tests.memory.brief.loops.sessions import NOW, Story, empty, settled, texts


@pytest.mark.parametrize(
    ("step", "other"),
    [
        ("Migrate users table", "Migrate orders table"),
        ("Implement GET /users endpoint", "Implement GET /orders endpoint"),
        ("Add tests for login", "Remove tests for login"),
        ("Write docs for v1 API", "Write docs for v2 API"),
        ("Enable TLS on the gateway", "Disable TLS on the gateway"),
        ("迁移用户表到新的数据库", "迁移订单表到新的数据库"),
    ],
)
def test_a_sibling_or_opposite_step_is_another_one(step: str, other: str) -> None:
    assert not names(step, other)
    assert names(step, step)


def test_a_commit_closes_the_one_step_that_it_fits_best_and_a_revert_none() -> None:
    plan = "1. Implement GET /users endpoint\n2. Implement GET /orders endpoint\n3. Deploy to staging"
    story = Story().hear(PlanProposed("p", plan, None, NOW))
    story.hear(PlanAnswered("p", True, None, None, story.at)).ran("git commit -m 'Implement GET /users endpoint'")

    assert texts(settled(story)) == ["Implement GET /orders endpoint", "Deploy to staging"]
    story.ran("git commit -m 'Revert \"Implement GET /users endpoint\"'")
    assert len(texts(settled(story))) == 3


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("make", "make clean"), ("make", "make -v"), ("make", "make -n"), ("make test", "make test -n"),
        ("npx tsc", "npx tsc -v"), ("npx eslint src", "npx eslint -v"), ("bundle exec rspec", "rspec -v"),
        ("gcc main.c -o app", "gcc -v"), ("cargo clippy -- -D warnings", "cargo clippy"),
        ("eslint . --max-warnings 0", "eslint ."), ("go test -race ./...", "go test ./..."),
        ("go test -tags e2e ./...", "go test ./..."), ("cargo build --release", "cargo build"),
        ("pytest --cov-fail-under=90", "pytest"), ("npm test", "cd packages/api && npm test"),
        ("docker build -f a/Dockerfile .", "docker build ."), ("cargo test --all-features", "cargo test"),
        ("docker build ./api", "docker build ."), ("docker build -t api ./api", "docker build ."),
        ("docker buildx build api/worker", "docker buildx build api"), ("dotnet build ./api", "dotnet build"),
        ("podman build api", "podman build ."), ("kustomize build overlays/prod", "kustomize build ."),
        ("helm lint ./charts/api", "helm lint ./charts"), ("sam build ./api", "sam build ."),
        ("cmake --build build/release", "cmake --build build"), ("python -m build api", "python -m build ."),
        ("pytest -x -m slow", "pytest -k nothing"), ("pytest -x -m slow", "pytest"), ("pytest -m slow", "pytest -x"),
        ("behave --tags @slow", "behave"), ("phpunit --testsuite e2e", "phpunit"),
        ("pytest", "PYTEST_ADDOPTS='-k nothing' pytest"), ("DATABASE_URL=pg://x pytest", "pytest"),
        ("env E2E=1 npm test", "npm test"), ("npm test", "SKIP_E2E=1 npm test"),
    ],
)  # fmt: skip
def test_a_run_that_looked_at_less_closes_no_check(failed: str, passed: str) -> None:
    story = Story().ran(failed, 2)
    before = settled(story).state

    assert len(texts(before)) == 1
    assert texts(settled(story.ran(passed), before)) == texts(before)


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("cd /w && pytest", "pytest"), ("pytest -k a", "pytest --cov=src"), ("pytest -x -m slow", "pytest -m slow"),
        ("docker build -t a ./api", "docker build api"), ("docker build .", "docker build ./"),
        ("docker compose build api", "docker compose build"), ("go build ./api", "go build ./..."),
        ("CI=1 pytest", "NO_COLOR=1 pytest"), ("E2E=1 npm test", "E2E=1 npm test"), ("dotnet build", "dotnet build ."),
    ],
)  # fmt: skip
def test_a_run_that_looked_at_as_much_closes_it(failed: str, passed: str) -> None:
    assert texts(settled(Story().ran(failed, 1).ran(passed))) == []


@pytest.mark.parametrize("code", [None, 124])
def test_a_run_that_was_stopped_hides_no_failure(code: int | None) -> None:
    story = Story().ran("pytest", 1).ran("pytest tests/a.py")
    before = settled(story).state
    story.ran("pytest", code, interrupted=code is None)

    assert texts(settled(story, before)) == texts(before) == ["`pytest` failed with exit code 1"]
    assert len(texts(settled(story))) == 1


def test_a_ledger_that_begins_anew_closes_nothing() -> None:
    story = Story().began_job("npm run watch").ran("pytest", 1)
    story.hear(QuestionAsked("q", (Question("Which database?", ()),), story.at))
    before = settled(story).state

    assert len(texts(before)) == 3
    assert texts(settled(Story(), before)) == texts(before)


def test_what_its_own_proof_closed_is_open_again_when_it_is_found_again() -> None:
    story = Story().hear(FileWritten("f", "/w/a.py", False, NOW - 60))
    dirty, clean = GitSummary("main", top="/w", dirty=("a.py",)), GitSummary("main", top="/w", dirty=())
    before = settle(empty(), story.seen(dirty)).state
    closed = settle(before, story.seen(clean)).state

    assert texts(closed) == []
    gone = {before.open_loops[0].id: before.open_loops[0].text}
    assert texts(settle(closed, story.seen(dirty), (), gone)) == texts(before)


@pytest.mark.parametrize("is_dated", [True, False], ids=["dated by git", "of no known time"])
def test_a_merge_that_an_operator_resolved_stays_resolved_and_the_next_one_is_open(is_dated: bool) -> None:
    """No session began either of them, so that git's files alone tell one from the other."""

    def under_way(since: float) -> GitSummary:
        return GitSummary("main", top="/w", operation="merge", operation_at=since if is_dated else None)

    story, first, second = Story(), under_way(NOW - 600), under_way(NOW - 60)
    opened = settle(empty(), story.seen(first)).state
    name = opened.open_loops[0].id
    made = [Resolution(name, "I end it myself", timestamp(NOW - 300), "a")]
    state = resolve_loop(opened, name, made[0].reason, utc_date(NOW))
    assert state is not None
    gone = {name: opened.open_loops[0].text}

    for _ in range(2):
        state = settle(state, story.seen(first), made, gone).state
        assert texts(state) == []
    again = settle(state, story.seen(second), made, gone).state
    assert texts(again) == (["A merge is under way on main"] if is_dated else [])


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", "docs/My Notes.md", "Makefile", "a, and b.txt"])
def test_files_are_known_by_their_whole_names(name: str) -> None:
    story = Story().hear(FileWritten("f", f"/w/{name}", False, NOW - 60))
    before = settle(empty(), story.seen(GitSummary("main", top="/w", dirty=(name,)))).state
    later = Story("22222222", 2)

    assert texts(settle(before, later.seen(GitSummary("main", top="/w", dirty=(name,)))).state) == texts(before)
    assert texts(settle(before, later.seen(GitSummary("main", top="/w", dirty=("x",)))).state) == []
