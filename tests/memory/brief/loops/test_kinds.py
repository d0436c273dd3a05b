"""Each kind of loop: its proof of being open, and its proof of being closed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.documents.brief.around import Asking, Waits
from phoenixd.documents.deeds import (
    FileWritten,
    JobEnded,
    PlanAnswered,
    PlanProposed,
    PromptQueued,
    TimerAsked,
    TimerSet,
)
from phoenixd.documents.ledger_rows import digest
from phoenixd.documents.resolved import Resolution
from phoenixd.documents.times import timestamp
from phoenixd.documents.workspace import GitSummary, Made
from phoenixd.memory.brief.closing import settle
from tests.memory.brief.loops.sessions import GO_ON, NOW, Story, empty, settled, tasks, texts

LIST = tasks(("迁移订单表", "completed"), ("Tests für den Export", "in_progress"), ("Документация", "open"))


def later(number: int = 2) -> Story:
    return Story("22222222", number, at=NOW - 1800)


class TestTasks:
    def test_what_is_not_done_is_open_in_any_language(self) -> None:
        done = settled(Story().listed(*tasks(("迁移订单表", "done"), ("Tests für den Export", "active"))))

        assert texts(done) == ["Tests für den Export"]
        loop = done.state.open_loops[0]
        assert loop.model_extra == {"kind": "tasks", "source": "11111111: task 2", "seen": 1}
        assert loop.id == "task-tests-f-r-den-export"

    def test_a_done_one_is_closed_with_its_proof(self) -> None:
        story = Story().listed(*tasks(("a b c d", "open")))
        before = settled(story).state

        after = settled(story.listed(*tasks(("a b c d", "done"))), before)

        assert texts(after) == []
        assert after.resolved == (("task-a-b-c-d", "the task list says that it is done"),)

    def test_a_dead_sessions_list_stays_open_for_its_successor(self) -> None:
        before = settled(Story().listed(*tasks(("Write the export", "open")))).state
        empty_list, other = settled(later(), before), settled(later().listed(*tasks(("Another", "open"))), before)
        taken_over = settled(later().listed(*tasks(("write the  export", "open"))), before)
        finished = settled(later().listed(*tasks(("Write the export", "done"))), before)

        assert texts(empty_list) == ["Write the export"]
        assert texts(other) == ["Write the export", "Another"]
        assert len(texts(taken_over)) == 1
        assert texts(finished) == []


class TestChecks:
    def test_the_newest_run_of_a_key_decides(self) -> None:
        assert texts(settled(Story().ran("npm test", 1))) == ["`npm test` failed with exit code 1"]
        assert texts(settled(Story().ran("npm test", 1).ran("npm test"))) == []
        assert len(texts(settled(Story().ran("npm test").ran("npm run test", 2)))) == 1

    def test_a_narrower_pass_proves_nothing_and_a_wider_one_does(self) -> None:
        assert len(texts(settled(Story().ran("pytest", 1).ran("pytest tests/a.py")))) == 1
        assert texts(settled(Story().ran("pytest tests/a.py", 1).ran("pytest"))) == []

    def test_grep_is_no_check_and_an_interrupted_run_decides_nothing(self) -> None:
        story = Story().ran("grep -rn TODO src", 1).ran("diff a b", 1).ran("make test", None, interrupted=True)

        assert texts(settled(story)) == []

    def test_one_of_several_failed_and_all_have_to_pass(self) -> None:
        story = Story().ran("npm run lint && npm test", 1)
        assert texts(settled(story)) == ["`npm run lint && npm test` failed with exit code 1"]
        assert len(texts(settled(story.ran("npm test")))) == 1
        assert texts(settled(story.ran("npm run lint"))) == []

    def test_a_later_sessions_run_closes_it(self) -> None:
        before = settled(Story().ran("cargo test", 101)).state

        assert texts(settled(later(), before)) == texts(before)
        assert texts(settled(later().ran("cargo test parser"), before)) == texts(before)
        assert texts(settled(later().ran("cargo test -q"), before)) == []

    def test_it_comes_back_when_it_fails_again(self) -> None:
        story = Story().ran("make test", 2)
        before = settled(story).state
        passed = settled(story.ran("make test"), before)
        made = [Resolution(name, reason, timestamp(story.at), "a") for name, reason in passed.resolved]
        again = settle(passed.state, story.ran("make test", 2).seen(), made)

        assert passed.state.open_loops == ()
        assert [loop.id for loop in again.state.open_loops] == ["check-make-test-2"]


class TestRequests:
    def test_a_prompt_whose_turn_did_not_end_is_open_verbatim(self) -> None:
        done = settled(Story().asked("erste Aufgabe").turn_ended().asked("bitte noch die Rückgabe prüfen"))

        assert texts(done) == ['Asked, and its turn did not end: "bitte noch die Rückgabe prüfen"']

    def test_a_turn_that_ended_closes_it(self) -> None:
        story = Story().asked("do x")
        before = settled(story).state

        assert texts(settled(story.turn_ended(), before)) == []

    def test_the_daemons_own_words_are_no_request(self) -> None:
        story = Story().asked("fix the export").asked("go on")

        done = settled(story, **GO_ON)

        assert texts(done) == ['Asked, and its turn did not end: "fix the export"']

    def test_a_goal_that_the_ledger_keeps_in_part_is_no_request(self) -> None:
        goal = "Do the thing. " * 400

        for story in (Story().asked(goal), Story().asked(f"{goal.strip()}\n\nGo on.")):
            assert texts(settled(story)) != []
            assert texts(settled(story, goal=frozenset({digest(goal.strip())}))) == []

    def test_a_queued_prompt_waits(self) -> None:
        story = Story().asked("a").turn_ended().hear(PromptQueued("and the log as JSON", False, NOW))

        assert texts(settled(story)) == ['Asked while a turn was going on, and not read: "and the log as JSON"']

    def test_a_successor_that_was_told_to_go_on_and_did_closes_it(self) -> None:
        before = settled(Story().asked("fix the export")).state
        story = later().asked("go on")

        still = settled(story, before, **GO_ON)
        done = settled(story.turn_ended(), still.state, **GO_ON)

        assert len(texts(still)) == 1
        assert texts(done) == []


class TestQuestions:
    ASKED = Asking("Which database?", ("SQLite", "Postgres"), NOW - 60)

    def test_one_that_outlived_its_run_is_open_for_the_next_session_until_the_inbox_has_it_no_more(self) -> None:
        left = replace(self.ASKED, left=True)
        before = settled(Story(), asking=(self.ASKED,)).state
        told = settled(later(), before, asking=(left,)).state
        answered = settled(later(), told)

        assert texts(before) == texts(told) == ['Asked, not answered: "Which database? (SQLite / Postgres)"']
        assert len(told.open_loops) == 1
        assert texts(answered) == []
        assert answered.resolved[0][1] == "it was answered from the inbox, or is no longer asked"

    def test_a_permission_that_ended_with_its_run_stays_for_the_next_session(self) -> None:
        before = settled(Story(), asking=(self.ASKED,)).state

        assert texts(settled(later(), before)) == texts(before)

    def test_what_the_daemon_knows_to_be_asked_is_open(self) -> None:
        story = Story()
        before = settled(story, asking=(Asking("哪一个？", ("甲", "乙")),)).state

        assert texts(before) == ['Asked, not answered: "哪一个？ (甲 / 乙)"']
        assert texts(settled(story, before)) == []


class TestPlans:
    PLAN = "# Plan\n1. Create the table\n2. Move the rows over\n   - in batches\n3. Drop the old columns"

    def approved(self) -> Story:
        story = Story().hear(PlanProposed("p", self.PLAN, None, NOW))
        return story.hear(PlanAnswered("p", True, None, None, story.at))

    def test_steps_that_no_task_and_no_commit_closes_are_open(self) -> None:
        story = self.approved().ran("git add -A && git commit -m 'db: create the table'")
        story.listed(*tasks(("Move the rows over", "done")))

        assert texts(settled(story)) == ["Drop the old columns"]

    def test_a_step_on_the_task_list_is_a_task(self) -> None:
        story = self.approved().listed(*tasks(("Move the rows over", "active")))

        assert texts(settled(story)) == ["Move the rows over", "Create the table", "Drop the old columns"]

    def test_a_plan_that_was_not_approved_opens_nothing(self) -> None:
        story = Story().hear(PlanProposed("p", self.PLAN, None, NOW)).hear(PlanAnswered("p", False, None, None, NOW))

        assert texts(settled(story)) == []


class TestBackground:
    def test_what_died_with_its_process_is_open_and_what_lives_is_not(self) -> None:
        story = Story().began_job("npm run watch:css")

        assert texts(settled(story)) == ["Ended with its process: `npm run watch:css`"]
        assert texts(settled(story, process_began=NOW - 7200)) == []
        assert len(texts(settled(story, process_began=NOW))) == 1

    def test_its_end_or_another_beginning_closes_it(self) -> None:
        story = Story().began_job("cargo fuzz run x", "b1")
        before = settled(story).state

        assert texts(settled(later().began_job("cargo fuzz run x"), before, process_began=NOW - 1900)) == []
        assert texts(settled(story.hear(JobEnded("b1", None, "done", 0, NOW)), before)) == []

    def test_a_wake_up_of_the_process(self) -> None:
        story = Story().hear(TimerAsked("t", "in 20 minutes", "посмотри на деплой", False, NOW))
        story.hear(TimerSet("t", "1", None, False, NOW))

        assert texts(settled(story)) == ['A wake-up ended with its process (in 20 minutes): "посмотри на деплой"']


class TestRepository:
    def git(self, *dirty: str, ahead: int = 0, operation: str = "") -> GitSummary:
        return GitSummary("feat/x", top="/w", dirty=dirty, ahead=ahead, operation=operation)

    def wrote(self, *names: str) -> Story:
        story = Story()
        for name in names:
            story.hear(FileWritten(name, f"/w/{name}", False, NOW - 60))
        return story

    def test_own_files_alone_are_uncommitted_work(self) -> None:
        story = self.wrote("src/a.py", "src/b.py", "new/c.py")
        before = settle(empty(), story.seen(self.git("src/a.py", "README.md", "new/"))).state

        assert texts(before) == ["Not committed: src/a.py, new/c.py"]
        assert texts(settle(before, story.seen(self.git("src/a.py"))).state) == ["Not committed: src/a.py"]
        assert texts(settle(before, later().seen(self.git("README.md"))).state) == []
        assert texts(settle(before, later().seen(self.git("src/a.py"))).state) == texts(before)
        assert texts(settle(before, later().seen(None)).state) == texts(before), "unknown proves nothing"

    @pytest.mark.parametrize("by_git", [True, False])
    def test_commits_of_this_session_that_no_remote_has(self, by_git: bool) -> None:
        story = Story() if by_git else Story().ran("git commit -am 'fix: x'")
        git = self.git(ahead=2)
        if by_git:
            git = GitSummary("feat/x", dirty=(), ahead=2, made=(Made("abc", NOW, "fix: x"),))
        before = settle(empty(), story.seen(git)).state

        assert [loop.id for loop in before.open_loops] == ["unpushed-branch-feat-x"]
        assert texts(settle(before, story.seen(self.git())).state) == []
        assert texts(settle(empty(), Story().seen(self.git(ahead=2))).state) == [], "somebody else's"

    def test_a_merge_under_way(self) -> None:
        story = Story().ran("git merge origin/main", 1)
        before = settle(empty(), story.seen(self.git(operation="merge"))).state

        assert texts(before) == ["A merge is under way on feat/x, begun by `git merge origin/main`"]
        assert texts(settle(before, later().seen(self.git())).state) == []


def test_the_operators_inbox() -> None:
    story = Story()
    before = settled(story, inbox=(Waits("7", "quarantine", "five deaths in an hour"),)).state

    assert texts(before) == ['Waits for a person, quarantine: "five deaths in an hour"']
    assert texts(settled(later(), before)) == []
