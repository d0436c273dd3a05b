"""state.json: the seed's file is accepted as it stands, odd ones are repaired, broken ones never raise, loops stay."""

from __future__ import annotations

import json
import random
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.redact import redact
from phoenixd.documents.state import (
    OpenLoop,
    ResolvedLoop,
    StateDocument,
    drop_old_resolved,
    flag_stale,
    render_state,
    resolve_loop,
    without_secrets,
)
from phoenixd.documents.state_merge import merge_states
from phoenixd.documents.state_reading import read_state
from tests import quick_start

TODAY = date(2026, 2, 17)
SEED_EXAMPLE = quick_start.STATE.encode()


def document(**fields: Any) -> StateDocument:
    return StateDocument(**{"agent": "a", **fields})


def loop(loop_id: str, text: str = "text", added: str = "2026-02-10", **more: Any) -> OpenLoop:
    return OpenLoop(id=loop_id, text=text, added=added, **more)


def reread(state: StateDocument) -> StateDocument:
    reading = read_state(render_state(state), state.agent, TODAY)
    assert reading.document is not None
    assert reading.notes == ()
    return reading.document


def test_p87_the_seeds_example_is_accepted_unchanged() -> None:
    reading = read_state(SEED_EXAMPLE, "myagent", TODAY)

    assert (reading.broken, reading.notes, reading.lossy) == (None, (), False)
    assert reading.document is not None
    written = json.loads(render_state(reading.document))
    expected = json.loads(SEED_EXAMPLE)
    expected["open_loops"][0]["stale"] = False
    assert written == expected
    assert list(written) == list(expected)
    # What the seed's start hook asks jq for.
    assert (written["status"], written["current_task"], len(written["open_loops"])) == (
        "working",
        "Implementing feature X",
        1,
    )


def test_p10_unknown_keys_survive_the_round_trip_at_every_level() -> None:
    content = json.dumps(
        {
            "agent": "a",
            "owner": {"team": ["x", 1, None]},
            "open_loops": [{"id": "l", "text": "t", "added": "2026-02-10", "priority": 3}],
            "resolved": [{"id": "r", "reason": "done", "resolved_date": "2026-02-16", "by": "me"}],
        }
    ).encode()

    reading = read_state(content, "a", TODAY)

    assert reading.document is not None
    written = json.loads(render_state(reading.document))
    assert written["owner"] == {"team": ["x", 1, None]}
    assert written["open_loops"][0]["priority"] == 3
    assert written["resolved"][0]["by"] == "me"


def test_p23_a_version_1_file_is_read_and_upgraded() -> None:
    reading = read_state(b'{"status": "working", "current_task": "X", "last_output": "o"}', "a", TODAY)

    assert reading.document == document(status="working", current_task="X", last_output="o")
    assert set(json.loads(render_state(reading.document))) >= {"agent", "open_loops", "resolved", "numbers"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b'{"agent": "a"', "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"agent": "b", "status": "idle"}', "names 'b', and this is a"),
        (b'{"open_loops": []}', "agent is missing"),
        (b"{}", "agent is missing"),
        (b"[" * 100_000, "not JSON"),
        (b" " * (2 << 20), "more than"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_p6_what_is_no_state_of_this_agent_is_refused_with_a_reason(content: bytes, reason: str) -> None:
    reading = read_state(content, "a", TODAY)

    assert reading.document is None
    assert reason in (reading.broken or "")


def test_odd_loops_are_mended_and_none_is_dropped_silently() -> None:
    """P11, P14, F-ST-7: ids become kebab-case, numbers become text, an odd day becomes today and is told."""
    content = json.dumps(
        {
            "agent": "a",
            "status": "sleeping",
            "open_loops": [
                {"id": "Auth Flow!", "text": "t", "added": "2026-02-10"},
                {"id": "auth-flow", "text": "u", "added": "yesterday"},
                "Call the bank",
                {"text": "only text"},
                7,
                {},
            ],
            "numbers": {"n": 3, "f": 1.5, "bad": [1], "s": "47/52"},
        }
    ).encode()

    reading = read_state(content, "a", TODAY)

    assert reading.document is not None
    found = reading.document.open_loops
    assert [item.id for item in found] == ["auth-flow", "auth-flow-2", "call-the-bank", "only-text"]
    assert [item.added for item in found] == ["2026-02-10", "2026-02-17", "2026-02-17", "2026-02-17"]
    assert reading.document.numbers == {"n": "3", "f": "1.5", "s": "47/52"}
    assert reading.document.status == "idle"
    assert reading.lossy
    assert {note for note in reading.notes if "no " in note} >= {"open_loops[4] is no loop", "open_loops[5] is no loop"}
    assert any("added is no day" in note for note in reading.notes)
    assert reread(reading.document) == reading.document


def test_f_st_11_a_newer_version_is_read_and_not_to_be_written() -> None:
    reading = read_state(b'{"agent": "a", "version": "3.1", "open_loops": []}', "a", TODAY)

    assert reading.document is not None
    assert reading.read_only
    assert not read_state(b'{"agent": "a", "version": 2}', "a", TODAY).read_only


def test_p28_stale_is_strictly_more_than_fourteen_days() -> None:
    state = document(
        open_loops=(loop("young", added="2026-02-03"), loop("old", added="2026-02-02"), loop("l", stale=True))
    )

    flagged = flag_stale(state, TODAY)

    assert [item.stale for item in flagged.open_loops] == [False, True, False]
    assert flag_stale(flagged, TODAY) is flagged


def test_p12_stale_is_reckoned_anew_and_never_believed() -> None:
    loops = [
        {"id": "young", "text": "t", "added": "2026-02-16", "stale": True},
        {"id": "old", "text": "t", "added": "2026-01-01", "stale": False},
    ]
    document = read_state(json.dumps({"agent": "a", "open_loops": loops}).encode(), "a", TODAY).document

    assert document is not None
    assert [loop.stale for loop in flag_stale(document, TODAY, 14).open_loops] == [False, True]


def test_f_sy_19_a_clock_that_stands_at_1970_makes_nothing_stale() -> None:
    document = read_state(SEED_EXAMPLE.replace(b"myagent", b"a"), "a", date(1970, 1, 1)).document

    assert document is not None
    assert document.open_loops[0].added == "2026-02-15"
    assert not flag_stale(document, date(1970, 1, 1), 14).open_loops[0].stale


def test_p13_a_resolved_loop_is_kept_for_seven_days() -> None:
    items = tuple(ResolvedLoop(id=day, reason="r", resolved_date=f"2026-02-{day}") for day in ("17", "10", "09"))

    assert [item.id for item in drop_old_resolved(document(resolved=items), TODAY).resolved] == ["17", "10"]


def test_p26_resolving_moves_a_loop_and_an_unknown_one_is_refused() -> None:
    state = document(open_loops=(loop("one"), loop("two")))

    resolved = resolve_loop(state, "one", "tested", TODAY)

    assert resolved is not None
    assert [item.id for item in resolved.open_loops] == ["two"]
    assert resolved.resolved == (ResolvedLoop(id="one", reason="tested", resolved_date="2026-02-17"),)
    assert resolve_loop(resolved, "one", "again", TODAY) is None


class TestMerge:
    BASE = document(
        current_task="goal",
        open_loops=(loop("a"), loop("b"), loop("c")),
        numbers={"n": "1"},
        last_active="2026-02-17T01:00:00Z",
    )

    def test_without_an_edit_the_daemons_state_holds(self) -> None:
        ours = document(current_task="new", open_loops=(loop("a"),), numbers={"n": "2"}, status="working")

        merged = merge_states(self.BASE, self.BASE, ours)

        assert merged == ours.model_copy(update={"last_active": self.BASE.last_active})

    def test_f_st_5_an_operators_values_are_kept_by_id(self) -> None:
        theirs = document(
            current_task="theirs",
            status="error",
            open_loops=(loop("d", "added by hand"), loop("b", "edited"), loop("a")),
            numbers={"n": "1", "m": "9"},
            owner="me",
        )
        ours = self.BASE.model_copy(
            update={"status": "working", "open_loops": (loop("b"), loop("c"), loop("e", "ours")), "numbers": {"n": "2"}}
        )

        merged = merge_states(self.BASE, theirs, ours)

        # d: added there; b: edited there; a: taken away by us; c: deleted there; e: added by us.
        assert [(item.id, item.text) for item in merged.open_loops] == [
            ("d", "added by hand"),
            ("b", "edited"),
            ("e", "ours"),
        ]
        assert merged.numbers == {"n": "2", "m": "9"}
        assert (merged.current_task, merged.status, merged.extras) == ("theirs", "working", {"owner": "me"})

    def test_p66_the_later_last_active_holds(self) -> None:
        """F-BR-9, X6: of the file's and the heartbeat's the later one holds."""
        early, late = document(last_active="2026-02-17T01:00:00Z"), document(last_active="2026-02-17T03:00:00+01:00")

        assert merge_states(early, early, late).last_active == late.last_active
        assert merge_states(early, late, early).last_active == late.last_active
        assert merge_states(early, document(last_active="nonsense"), early).last_active == early.last_active

    def test_p67_a_loop_written_back_in_by_the_operator_is_open_again(self) -> None:
        base = document(resolved=(ResolvedLoop(id="a", reason="r", resolved_date="2026-02-16"),))

        merged = merge_states(base, base.model_copy(update={"open_loops": (loop("a"),)}), base)

        assert [item.id for item in merged.open_loops] == ["a"]
        assert merged.resolved == ()


IDS = st.sampled_from(["a", "b", "c", "d", "e"])
LOOPS = st.lists(st.builds(loop, IDS, st.sampled_from(["x", "y"])), unique_by=lambda item: item.id).map(tuple)
STATES = st.builds(
    document,
    current_task=st.sampled_from([None, "one", "two"]),
    open_loops=LOOPS,
    numbers=st.dictionaries(IDS, st.sampled_from(["1", "2"])),
)


@given(STATES, STATES)
def test_one_sided_changes_are_taken_whole(base: StateDocument, changed: StateDocument) -> None:
    def content(state: StateDocument) -> tuple[Any, ...]:
        return state.current_task, set(state.open_loops), state.numbers

    assert content(merge_states(base, base, changed)) == content(changed)
    assert content(merge_states(base, changed, base)) == content(changed)


@given(STATES, STATES, STATES)
def test_what_the_operator_wrote_or_changed_is_in_the_result(
    base: StateDocument, theirs: StateDocument, ours: StateDocument
) -> None:
    merged = merge_states(base, theirs, ours)

    assert set(theirs.open_loops) - set(base.open_loops) <= set(merged.open_loops)
    assert reread(merged) == merged


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_value_in_any_place_is_read_without_an_exception(value: Any) -> None:
    keys = ["agent", "status", "current_task", "last_active", "open_loops", "resolved", "numbers", "other"]
    for key in keys:
        content = json.dumps({"agent": "a", key: value}).encode()
        reading = read_state(content, "a", TODAY)
        if reading.document is not None:
            assert reread(reading.document) == reading.document


def corrupted(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(8):
            case 0:
                del data[at:]
            case 1 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 2:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 20)))
            case 3:
                data[at : at + 30] = b"\0" * 30
            case 4:
                del data[at : at + rng.randint(1, 40)]
            case 5:
                data += data[at:]
            case 6:
                data[at:at] = rng.choice(
                    [b"[", b"{", b'"', b"1e999", b"null", b",", b"NaN", b"\xef\xbb\xbf", b"9" * 5000]
                )
            case 7:
                data[:] = data.replace(
                    rng.choice([b'"', b":", b"true", b"2026"]), rng.choice([b"", b"null", b"[]", b"'"]), 1
                )
    return bytes(data)


def test_p78_ten_thousand_corrupted_files_raise_nothing_and_lose_no_good_loop() -> None:
    """A loop that stands in the file as JSON with text and id is in the document, or the file is refused as a whole."""
    original = render_state(
        document(
            status="working",
            current_task="Größe prüfen",
            last_active="2026-02-17T02:00:00Z",
            open_loops=tuple(loop(f"loop-{number}", f"text {number}") for number in range(4)),
            resolved=(ResolvedLoop(id="r", reason="x", resolved_date="2026-02-16"),),
            numbers={"tests": "47/52"},
            extra={"deep": [1, 2, {"x": None}]},
        )
    )
    rng = random.Random(20260217)
    accepted = 0
    for _ in range(10_000):
        content = corrupted(rng, original)
        reading = read_state(content, "a", TODAY)
        if reading.document is None:
            assert reading.broken
            continue
        accepted += 1
        # The standard library is the judge of what stands in the file.
        plain = json.loads(content.removeprefix(b"\xef\xbb\xbf"))
        listed = plain.get("open_loops")
        good = (
            [item for item in listed if isinstance(item, dict) and item.get("text")] if isinstance(listed, list) else []
        )
        texts = [item.text for item in reading.document.open_loops]
        assert [item["text"].strip() for item in good if isinstance(item["text"], str) and item["text"].strip()] == [
            text for text in texts if text in {str(item["text"]).strip() for item in good}
        ]
        assert reading.lossy or not listed or len(texts) == len(listed)
        render_state(reading.document)
    assert accepted > 500


def test_p79_no_secret_stands_in_what_a_loop_says_besides_its_text() -> None:
    secret = "ghp_" + "A1b2C3d4E5" * 4
    told = {"kind": "tasks", "source": f"0199a213: task {secret}", "files": [f"{secret}.txt"], "seen": 3}
    loop = OpenLoop.model_validate({"id": "task-x", "text": "Do it", "added": "2026-11-21", **told})
    done = ResolvedLoop.model_validate({"id": "y", "reason": "done", "resolved_date": "2026-11-21", "by": secret})
    clean = without_secrets(StateDocument(agent="a", open_loops=(loop,), resolved=(done,)), redact)

    assert secret not in render_state(clean).decode()
    assert (clean.open_loops[0].model_extra or {})["seen"] == 3
