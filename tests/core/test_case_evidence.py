"""What is known of a failure, at once and later, and what its Case claims of that."""

from __future__ import annotations

from phoenixd.core.events.evidence import FailureStatusSeen
from phoenixd.core.events.runs import StartFailed
from tests.core.patients import back, case, cases, dies
from tests.core.story import Story


def test_two_failures_of_one_kind_in_one_run_are_told_each_by_its_number(story: Story) -> None:
    for _ in range(2):
        story.hook("prompt-submit", text="on")
        story.hook("stop-failure", error="odd", text="what nobody knows")

    told = [one for kept in story.kept for one in kept.noticed]
    assert [(one.case, one.incarnation, one.occasion, one.number) for one in told] == [
        ("c1", 1, "failed_turn", 1), ("c1", 1, "failed_turn", 2),
    ]  # fmt: skip


def test_the_status_of_the_api_completes_the_failure_that_it_belongs_to(story: Story) -> None:
    """Claude Code tells it in its transcript alone, a moment after the hook."""
    story.hook("stop-failure", error="authentication_failed", text="401")
    story.kept.clear()
    story.tell(FailureStatusSeen("a", 1, 401))
    story.tell(FailureStatusSeen("a", 1, 401))

    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.evidence.status, told.evidence.failure, told.number, told.is_more) == (401, "login", 1, True)
    assert case(story).incidents == 1


def test_a_status_that_shows_another_cause_changes_what_the_case_claims(story: Story) -> None:
    story.hook("stop-failure", error="invalid_request", text="Request too large")
    assert case(story).detail == "request"
    story.tell(FailureStatusSeen("a", 1, 413))

    assert (case(story).detail, case(story).cause) == ("window", "context_length_exceeded")
    assert (case(story).rule, case(story).key) == (
        "the window cannot hold what was asked", "context_length_exceeded: window",
    )  # fmt: skip


def test_a_code_in_the_transcript_shows_what_a_class_without_one_was_for(story: Story) -> None:
    """Claude Code 2.1.330 writes the API's own type there; the hook's class is one for whatever it does not know."""
    story.hook("stop-failure", error="unknown", text="API Error: 400 zu lang")
    assert (case(story).detail, case(story).cause) == ("request", None)
    story.tell(FailureStatusSeen("a", 1, 400, "full"))

    assert (case(story).detail, case(story).cause) == ("window", "context_length_exceeded")


def test_what_a_transcript_names_counts_for_the_end_of_the_run_too(story: Story) -> None:
    story.hook("stop-failure", error="unknown", text="API Error: 400 nein")
    story.tell(FailureStatusSeen("a", 1, 400, "request", "request"))
    story.kept.clear()

    story.exited(1)

    told = [one for kept in story.kept for one in kept.noticed][-1]
    assert (told.evidence.named, told.diagnosis.cause, told.diagnosis.detail) == ("request", "logic_error", "request")


def test_a_death_on_a_full_disk_is_known_by_what_the_kernel_counted_whatever_it_printed(story: Story) -> None:
    story.exited(1, full_disks=("home", "tmp"))

    assert (case(story).detail, case(story).rule) == ("disk_full", "the disk was full")
    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.evidence.disk_full, told.evidence.disks) == (True, "home, tmp")


def test_a_death_with_room_on_its_disks_is_no_full_disk_whatever_it_printed(story: Story) -> None:
    story.exited(1, note="No space left on device")

    assert case(story).detail == "crash"


def test_a_turn_that_failed_for_an_unknown_reason_on_a_full_disk_failed_for_that(story: Story) -> None:
    story.hook("stop-failure", error="odd", text="what nobody knows", full_disks=("cwd",))

    assert case(story).detail == "disk_full"


def test_a_status_that_comes_later_does_not_hide_that_the_disk_was_full(story: Story) -> None:
    story.hook("stop-failure", error="odd", text="what nobody knows", full_disks=("cwd",))
    story.tell(FailureStatusSeen("a", 1, 500))

    assert [one.detail for one in cases(story)] == ["disk_full"]
    assert story.kept[-1].noticed[-1].evidence.disks == "cwd"


def test_a_start_whose_files_could_not_be_written_for_want_of_room_failed_for_that(story: Story) -> None:
    dies(story)
    story.wait(1)
    story.tell(StartFailed("a", story.agent.incarnation, 0, "the files of a start could not be written", "disk full"))

    assert "disk_full" in [one.detail for one in cases(story)]


def test_a_status_of_an_older_run_or_of_no_failure_changes_nothing(story: Story) -> None:
    story.tell(FailureStatusSeen("a", 1, 500))
    dies(story)
    back(story)
    known = story.fleet.cases
    story.tell(FailureStatusSeen("a", 1, 500))
    story.tell(FailureStatusSeen("a", 2, 500))

    assert story.fleet.cases == known


def test_the_end_of_a_run_keeps_the_status_that_its_turn_failed_with(story: Story) -> None:
    story.hook("stop-failure", error="invalid_request", text="Request too large")
    story.tell(FailureStatusSeen("a", 1, 413))
    story.kept.clear()
    story.exited(1)

    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.occasion, told.evidence.status, told.diagnosis.detail) == ("crash", 413, "window")
