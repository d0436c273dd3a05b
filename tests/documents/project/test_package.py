"""The handoff package: the seed's form, its hash, and what keeps it from being rested on."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.documents.project import package
from phoenixd.documents.project.models import HandoffPackage, OrchestratorState
from phoenixd.documents.project.reading import read_document, render_document
from phoenixd.documents.project.schemas import schemas
from phoenixd.documents.project.tree import Artifact, Tree
from phoenixd.errors import BadProject
from tests.documents.project.projects import (
    BUILDING,
    NOW,
    PLANNING,
    SEED_PACKAGE,
    SEED_STATE,
    encoded,
    plan_of,
    tree_of,
)

STATE = OrchestratorState(
    project_name="shop", current_phase=BUILDING, current_step=3, completed_tasks=("Task 1: work 1",),
    pending_tasks=("Task 2: work 2",),
)  # fmt: skip


def tree() -> Tree:
    plans = {BUILDING: plan_of(("2", "pending")), PLANNING: plan_of(("1", "completed"))}
    made = tree_of(plans, artifacts={f"{PLANNING}/artifacts/task-1/deep/brief.json": b"{}"})
    return replace(made, memory=(".claude/orchestrators/orchestrator-aaa/memory/patterns.md",))


def made(of: Tree | None = None, **more: Any) -> HandoffPackage:
    given = {
        "previous": "aaa",
        "new": "bbb",
        "created_at": NOW,
        "generation": 2,
        "summary": "All is well.",
        "word": "w",
    }
    return package.build(of or tree(), STATE, **{**given, **more})


def test_x15_the_seeds_examples_validate_and_are_read() -> None:
    exported = schemas()
    jsonschema.validate(SEED_PACKAGE, exported["handoff-package"])
    jsonschema.validate(SEED_STATE, exported["orchestrator-state"])
    jsonschema.validate(SEED_PACKAGE, {**exported["orchestrator-state"], "$ref": "#/$defs/HandoffPackage"})

    assert package.read(encoded(SEED_PACKAGE), "p").project_state.current_step == 15
    assert json.loads(render_document(read_document(OrchestratorState, encoded(SEED_STATE), "s"))) == SEED_STATE


@pytest.mark.parametrize(
    ("key", "value"), [("currentStep", -1), ("currentStep", 1.5), ("currentStep", "15"), ("completedTasks", None)]
)
def test_e39_a_step_is_a_whole_number_from_0_on(key: str, value: Any) -> None:
    wrong = copy.deepcopy(SEED_PACKAGE)
    wrong["projectState"][key] = value

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schemas()["handoff-package"])
    with pytest.raises(BadProject, match=rf"^p was not taken: projectState\.{key}"):
        package.read(encoded(wrong), "p")


def test_e30_e31_e32_e33_e34_e35_e36_e37_e38_e40_e41_what_a_package_names() -> None:
    one = made()

    assert (one.previous_session_id, one.new_session_id) == ("orchestrator-aaa", "orchestrator-bbb")
    assert (one.project_name, one.current_phase, one.created_at) == ("shop", BUILDING, NOW)
    assert list(one.plan_files) == [PLANNING, BUILDING]
    assert len(one.claude_md_files) == 2
    assert len(one.memory_files) == 1
    assert one.artifacts == (f".claude/projects/shop/{PLANNING}/artifacts/task-1/deep/brief.json",)
    assert one.project_state.completed_tasks == ("Task 1: work 1",)
    assert one.project_state.pending_tasks == ("Task 2: work 2",)
    assert package.check(one) == package.outdated(one, tree()) == package.lost_artifacts(one, tree()) == ()
    assert package.read(package.render(one), "p") == one


def test_e47_the_hash_stands_in_the_file_and_is_taken_without_itself() -> None:
    one = package.read(package.render(made()), "p")

    assert one.hash == package.digest(one) == package.digest(one.model_copy(update={"hash": None}))
    # The same content in another order and spacing is the same package.
    shuffled = dict(reversed(json.loads(package.render(one)).items()))
    assert package.digest(package.read(json.dumps(shuffled, indent=9).encode(), "p")) == one.hash


@pytest.mark.parametrize("key", [*SEED_PACKAGE, "word", "generation", "unknown", "degraded"])
def test_f_ho_8_a_package_that_was_changed_after_its_hash_is_known(key: str) -> None:
    told = json.loads(package.render(made()))
    other = {
        "createdAt": "2026-01-31T10:00:01Z",
        "currentPhase": PLANNING,
        "generation": 7,
        "degraded": True,
        "projectName": "shop2",
        "previousSessionId": "orchestrator-x",
        "newSessionId": "orchestrator-y",
    }
    told[key] = other.get(key, "another" if key in ("word", "unknown") else type(told[key])())
    if key == "projectState":
        told[key] = {**json.loads(package.render(made()))[key], "currentStep": 4}

    assert "the package was changed after its hash was taken" in package.check(package.read(encoded(told), "p"))


def test_e35_e36_e37_f_ho_7_a_package_whose_files_are_gone_names_them() -> None:
    one, now = made(), tree()
    files = {path: content for path, content in now.files.items() if not path.endswith(f"{PLANNING}/plan.md")}
    without = Tree("shop", files, (*now.phases,))

    assert set(package.outdated(one, without)) == {
        ".claude/orchestrators/orchestrator-aaa/memory/patterns.md is not there",
        f".claude/projects/shop/{PLANNING}/plan.md is not there",
    }
    assert package.lost_artifacts(one, without) == (
        f".claude/projects/shop/{PLANNING}/artifacts/task-1/deep/brief.json is not there",
    )
    assert "the package is of shop, not of other" in package.outdated(one, Tree("other"))


def test_of_many_files_that_are_gone_two_and_their_number_are_told() -> None:
    assert package.first(("a is not there", "b is not there")) == "a is not there; b is not there"
    assert package.first(tuple("abcd")) == "a; b; 2 more"


def test_x30_a_package_without_its_updates_says_so() -> None:
    one = made(failures=["planner: the plan could not be read"])

    assert one.degraded
    assert one.failures == ("planner: the plan could not be read",)
    assert package.check(one) == ()
    assert package.check(made(summary=" ")) == ("the package has no summary",)


def test_e37_very_many_artifacts_are_named_by_their_manifests() -> None:
    manifest = f".claude/projects/shop/{PLANNING}/artifacts/manifest.json"
    base = tree()
    many = Tree("shop", {**base.files, manifest: b"{}"}, base.phases, tuple(Artifact(f"x/{n}", 1) for n in range(1001)))

    one = made(many)
    assert (one.artifacts, one.artifact_count) == ((manifest,), 1001)


def test_f_ho_19_a_chain_of_five_keeps_one_prefix() -> None:
    previous = "orchestrator-0"
    for number in range(1, 6):
        one = made(previous=previous, new=f"orchestrator-{number}")
        assert (one.previous_session_id, one.new_session_id) == (previous, f"orchestrator-{number}")
        previous = one.new_session_id
    with pytest.raises(BadProject):
        made(previous="x", new="orchestrator-x")


BAD = {
    "up": ("planFiles", {"phase-01-planning": "../../etc/passwd"}),
    "absolute": ("artifacts", ["/etc/passwd"]),
    "dot": ("memoryFiles", ["a/./b"]),
    "backslash": ("memoryFiles", ["a\\..\\b"]),
    "nul": ("memoryFiles", ["a\0b"]),
    "newline": ("projectName", "a\nb"),
    "phase": ("currentPhase", "../phase-01-x"),
    "id": ("newSessionId", "xyz789"),
    "time": ("createdAt", "yesterday"),
    "kind": ("artifacts", {"a": 1}),
    "many": ("artifacts", ["a"] * 20_001),
    "surrogate": ("word", "\ud800"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_package_is_refused_by_name(name: str) -> None:
    key, value = BAD[name]

    with pytest.raises(BadProject) as refused:
        package.read(encoded({**SEED_PACKAGE, key: value}), "x/handoff-package.json")
    assert refused.value.message.startswith("x/handoff-package.json was not taken: ")
    assert "x/handoff-package.json" in refused.value.remedy


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b"{", b"\0" * 10, b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000, b"\xff\xfe{}",
     b'{"a": ' + b"9" * 5000 + b"}", b" " * (5 << 20)],
    ids=["empty", "list", "null", "torn", "nul", "nan", "twice", "deep", "utf16", "number", "large"],
)  # fmt: skip
def test_what_is_no_document_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(BadProject, match=r"^p was not taken"):
        package.read(content, "p")


def test_crlf_and_a_byte_order_mark_are_read() -> None:
    text = json.dumps(SEED_PACKAGE, indent=1).replace("\n", "\r\n")

    assert package.read(f"\ufeff{text}".encode(), "p") == package.read(encoded(SEED_PACKAGE), "p")


@given(st.dictionaries(st.text(min_size=1).map(lambda key: f"x-{key}"), st.integers() | st.text() | st.none()))
def test_unknown_keys_survive_a_round_trip(extra: dict[str, Any]) -> None:
    told = {**SEED_STATE, **extra}
    told["phases"] = {name: {**phase, **extra} for name, phase in SEED_STATE["phases"].items()}
    if any("\0" in str(part) for pair in extra.items() for part in pair):
        return  # What no name can hold is refused, and tested above.

    assert json.loads(render_document(read_document(OrchestratorState, encoded(told), "s"))) == told
