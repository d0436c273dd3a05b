"""The pacemaker beside models that forget, compact, refuse, echo and disobey."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast, get_args

import pytest

from phoenixd.documents.times import timestamp
from phoenixd.planting import Mode, codes_in
from phoenixd.resonance import MarkerLost, Message, Pacemaker, Reply, SessionSeed
from phoenixd.resonance.session import Transport
from tests.resonance import models
from tests.resonance.models import Model, dropping, tokens

SEED = SessionSeed("The Architect", ("Design the protocol",), ("Markers are hybrid",))
TRANSPORTS, MODES = get_args(Transport), get_args(Mode)
INTERVAL, WINDOW = 10, 3000


def pacemaker(model: Callable[[list[Message]], Any], seed: int = 1, **given: Any) -> Pacemaker:
    dice = random.Random(seed)
    clock = iter(range(1_790_000_000, 10**12, 3600))
    given.setdefault("now", lambda: float(next(clock)))
    return Pacemaker(model, SEED, draw=lambda count: dice.randbytes(count).hex(), **given)


def kinds(pace: Pacemaker) -> list[str]:
    return [one.kind for one in pace.records.happened]


def until_lost(pace: Pacemaker, model: Model, question: str = "Go on with the next part of it.") -> tuple[int, int]:
    """The turn in which the front was dropped first, and the turn in which that was found out; 0: never."""
    dropped = 0
    for turn in range(1, 120):
        before = len(model.requests)
        answer = pace.turn(question)
        if not dropped and any(len(model.view(one)) < len(one) for one in model.requests[before:]):
            dropped = turn
        if answer.verdict == "lost":
            return dropped, turn
    return dropped, 0


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [Model, models.DisobeyingOnce, models.Paraphrasing, models.Listing])
def test_r2_r61_a_front_that_was_dropped_is_found_within_interval_and_four_turns(
    kind: type[Model], mode: Mode, transport: Transport
) -> None:
    model = kind(view=dropping(WINDOW, pinned=True))
    pace = pacemaker(model, mode=mode, transport=transport, system="You are of use." * 20, interval=INTERVAL)

    dropped, found = until_lost(pace, model)

    assert 0 < dropped <= found <= dropped + INTERVAL + 3 + 1
    assert [one for one in kinds(pace) if one.startswith("restore")] == [f"restore_{step}" for step in range(1, 7)]


@pytest.mark.parametrize("transport", ["stateful", "compaction"])
def test_f_re_4_an_echo_passes_in_classic_and_not_in_one_time(transport: Transport) -> None:
    found = {}
    for mode in MODES:
        model = models.Echoing(view=dropping(WINDOW))
        found[mode] = until_lost(pacemaker(model, mode=mode, transport=transport), model)[1]

    assert found["one_time"] > 0
    assert found["classic"] == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [Model, models.DisobeyingOnce, models.Paraphrasing, models.Listing])
def test_f_re_2_no_model_that_knows_its_codes_is_taken_for_lost(
    kind: type[Model], mode: Mode, transport: Transport
) -> None:
    pace = pacemaker(kind(), mode=mode, transport=transport, interval=1)

    verdicts = {pace.turn(f"Part {part}.").verdict for part in range(60)}

    assert verdicts == {"intact"}


def test_f_re_11_a_compaction_that_drops_the_codes_is_answered_by_a_new_anchor() -> None:
    model = models.Compacting(window=800)
    pace = pacemaker(model, transport="compaction")

    verdicts = [pace.turn("Go on.").verdict for _ in range(200)]

    assert model.compactions > 5
    assert "missed" in verdicts
    assert "lost" not in verdicts
    assert kinds(pace).count("degraded") == verdicts.count("missed")


def test_r1_a_refused_request_begins_a_new_session_that_holds_no_old_code() -> None:
    model = models.Rejecting(window=1500)
    pace = pacemaker(model)
    first = [given.code for given in pace.records.given]

    for _ in range(80):
        pace.turn("Go on.")

    assert "rejected" in kinds(pace)
    assert "lost" not in kinds(pace)
    assert not codes_in(model.requests[-1][0]["content"]) & set(first)
    assert "Design the protocol" in model.requests[-1][0]["content"]


def test_f_re_1_a_model_that_never_obeys_is_given_up_on_and_says_so() -> None:
    pace = pacemaker(models.DisobeyingForEver())

    with pytest.raises(MarkerLost, match="did not know its marker either"):
        pace.turn("Begin.")
    with pytest.raises(MarkerLost, match="rearm"):
        pace.turn("Go on.")

    assert kinds(pace)[-1] == "restore_7"


def test_f_re_9_a_third_loss_within_an_hour_is_no_longer_restored() -> None:
    model = Model(view=dropping(WINDOW))
    pace = pacemaker(model, now=lambda: 1_790_000_000.0)

    with pytest.raises(MarkerLost, match="3 times within an hour"):
        _ = [pace.turn("Go on with the next part of it.") for _ in range(400)]


def test_r50_the_note_of_a_restoration_says_from_which_checkpoint_it_goes_on() -> None:
    model = Model(view=dropping(WINDOW))
    pace = pacemaker(model)
    for _ in range(120):
        before = pace.records.seed.last_checkpoint
        if pace.turn("Go on with the next part of it.").verdict == "lost":
            break

    assert before is not None
    assert pace.records.happened[-1].words == f"the new session goes on from the checkpoint of {timestamp(before)}"


def test_r39_the_seed_of_a_new_session_holds_no_code_of_an_older_one() -> None:
    model = Model(view=dropping(WINDOW))
    pace = pacemaker(model, transport="stateless")

    assert until_lost(pace, model)[1] > 0

    given = {one.code for one in pace.records.given}
    sent = codes_in(model.requests[-1][0]["content"]) & given
    assert sent == set(pace._session.planting.hexes())
    assert "[code]" in model.requests[-1][0]["content"]


@pytest.mark.parametrize("mode", MODES)
def test_r9_r32_each_request_of_a_stateless_model_starts_with_the_seed_and_one_code(mode: Mode) -> None:
    model = Model()
    pace = pacemaker(model, mode=mode, transport="stateless", system="You are of use.", interval=2)

    for part in range(12):
        pace.turn(f"Part {part}.")
    pace.check()

    assert len(model.requests) == 13
    for request in model.requests:
        system, first = request[0], request[1]
        assert system == {"role": "system", "content": "You are of use."}
        assert first["content"].startswith("[CONTEXT SEED]\n")
        assert "Active task: Design the protocol" in first["content"]
        assert sum("[CONTEXT SEED]" in one["content"] for one in request) == 1


@pytest.mark.parametrize("mode", MODES)
def test_r11_each_stateless_message_is_tagged_with_a_check_that_holds_no_code(mode: Mode) -> None:
    model = Model()
    pace = pacemaker(model, mode=mode, transport="stateless")

    for part in range(5):
        pace.turn(f"Part {part}.")

    assert len(model.requests) == 5
    for part, request in enumerate(model.requests):
        said, _, tag = request[-1]["content"].rpartition("\n")
        assert said.endswith(f"Part {part}.")
        assert tag.startswith("[Resonance check: ")
        assert tag.endswith("]")
        assert not codes_in(tag)


def test_r12_a_stateless_answer_without_its_code_is_a_truncation_with_no_question_before_it() -> None:
    model = Model()
    pace = pacemaker(model, transport="stateless", interval=1)
    assert [pace.turn(f"Part {part}.").verdict for part in range(5)] == ["intact"] * 5
    assert len(model.requests) == 5, "nothing is asked beside the work"

    model.view = lambda messages: messages[-1:]

    assert pace.turn("Go on.").verdict == "lost"
    assert kinds(pace) == ["missed", "missed", *(f"restore_{step}" for step in range(1, 7))]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_r13_r64_nothing_that_is_sent_after_the_anchor_holds_a_code(transport: Transport) -> None:
    model = Model()
    pace = pacemaker(model, transport=transport, interval=2)

    for part in range(30):
        pace.turn(f"Part {part}.")

    for request in model.requests:
        holding = [at for at, one in enumerate(request) if one["role"] == "user" and codes_in(one["content"])]
        assert holding == [0]
    assert all("Resonance marker" not in one["content"] for one in request if one["role"] == "system")


def test_r19_a_code_that_was_seen_elsewhere_is_not_asked_for() -> None:
    model = Model()
    pace = pacemaker(model)
    pace.turn("Begin.")
    unspent = [pace._session.planting.code(number) for number in pace._session.planting.unspent()]

    pace.seen("a tool printed " + ", ".join(unspent))

    assert pace.check() == "unverifiable"
    assert pace.turn("Go on.").verdict == "intact"
    assert "planted" in kinds(pace)


def test_r33_a_turn_that_ends_with_a_question_is_left_alone_three_times() -> None:
    class Asking(Model):
        def __call__(self, messages: list[Message]) -> Reply:
            reply = super().__call__(messages)
            return reply if models.asked_for(messages[-1]["content"]) is not None else Reply("Which one?")

    pace = pacemaker(Asking())

    assert [pace.turn("Go on.").verdict for _ in range(4)] == [None, None, None, "intact"]


def test_an_answer_that_was_cut_is_gone_on_with_once() -> None:
    def ask(messages: list[Message]) -> Reply:
        if messages[-1]["content"].startswith("Your answer was cut"):
            return Reply("and the end", "stop")
        number = models.asked_for(messages[-1]["content"])
        return Reply("the front ", "length") if number is None else Reply(models.known(messages, number))

    answer = pacemaker(ask).turn("Write it.")

    assert (answer.text, answer.cut, answer.verdict) == ("the front and the end", "", "intact")


def test_an_answer_that_is_cut_each_time_is_never_taken_for_whole() -> None:
    def ask(messages: list[Message]) -> Reply:
        number = models.asked_for(messages[-1]["content"])
        return Reply("more ", "max_tokens") if number is None else Reply(models.known(messages, number))

    assert pacemaker(ask).turn("Write it.").cut == "max_tokens"


def test_r15_after_an_error_the_next_turn_is_checked() -> None:
    model, broken = Model(), [False]

    def ask(messages: list[Message]) -> Reply:
        if broken.pop():
            raise OSError("connection reset")
        broken.append(False)
        return model(messages)

    pace = pacemaker(ask)
    pace.turn("Begin.")
    assert pace.turn("Go on.").verdict is None
    broken[:] = [False, True]
    with pytest.raises(OSError, match="reset"):
        pace.turn("Go on.")

    assert pace.turn("Go on.").verdict == "intact"


def test_r11_a_stateless_answer_is_given_without_its_code() -> None:
    model = Model()
    pace = pacemaker(model, transport="stateless")

    answer = pace.turn("Begin.")

    assert answer.verdict == "intact"
    assert not codes_in(answer.text)
    assert len(model.requests) == 1
    assert tokens(model.requests[0]) > 0


def test_r35_a_footer_of_another_role_or_a_degraded_state_is_noticed() -> None:
    def ask(messages: list[Message]) -> str:
        number = models.asked_for(messages[-1]["content"])
        if number is not None:
            return models.known(messages, number)
        role = "Builder" if "Builder" in messages[-1]["content"] else "The Architect"
        return f"Done.\n:: SYSTEM :: [Resonance: 7f3a9c] [Role: {role}] [State: Degraded]"

    pace = pacemaker(ask, footers=True)

    pace.turn("As the Builder.")
    assert pace.turn("As yourself.").verdict == "intact"

    assert kinds(pace) == ["role_mismatch", "state"]


def test_r45_anchor_seed_and_ledger_are_there_before_the_first_request() -> None:
    pace = pacemaker(cast(Any, None), agent="ada")

    assert set(pace.papers()) == {"resonance_anchor_ada.json", "session_seed_ada.json", "marker_ledger.jsonl"}
    assert len(pace.papers()["marker_ledger.jsonl"].splitlines()) == 25


def test_the_library_needs_nothing_but_the_standard_library() -> None:
    said = (
        "import sys; before = set(sys.modules); import phoenixd.resonance\n"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(roots - set(sys.stdlib_module_names) - {'phoenixd'}))\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('phoenixd.core', 'phoenixd.runtime'))))"
    )

    loaded = subprocess.run([sys.executable, "-S", "-c", said], capture_output=True, text=True, check=True).stdout

    assert loaded.split() == []
