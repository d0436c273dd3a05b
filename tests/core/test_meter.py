"""The meter: how full a context is, by whose word, and when that is too full (E3, E4, E16, E17, E20-E24, E79, E87)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.actions import Alert
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.meter import parts, trend
from phoenixd.core.meter.reading import Gauge, Meter, UsageSample, read
from phoenixd.core.moment import Moment
from phoenixd.core.projection import row
from phoenixd.core.rules import ContextRules
from phoenixd.core.seat.state import as_generation, seat_of
from phoenixd.core.spec import Kind
from phoenixd.core.step import step
from phoenixd.documents.hooks import hook_of
from tests.core.seats import BOSS
from tests.core.story import EPOCH, Story, claude
from tests.journaled import dump_agent, load_agent

WINDOW = 200_000


class Metered(Story):
    """A story of an agent that works, whose readings are told."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(claude(**{"kind": Kind.ORCHESTRATOR, **changes}))
        self.works()

    @property
    def session_id(self) -> str:
        assert self.agent.session is not None
        return self.agent.session.session_id

    def transcript(self, tokens: int | None, window: int | None = None, session_id: str | None = None) -> None:
        named = self.session_id if session_id is None else session_id
        self.tell(UsageSeen("a", self.agent.incarnation, tokens, window, "transcript", self.wall, named))

    def status_line(self, window: int | None, model: str | None = "opus", problem: str = "") -> None:
        told = UsageSeen(
            "a", self.agent.incarnation, None, window, "status line", None, self.session_id, model, problem
        )
        self.tell(told)

    def turn(self, tokens: int) -> None:
        self.tell(hook_of("a", self.agent.incarnation, "prompt-submit", text="next"))
        self.tell(hook_of("a", self.agent.incarnation, "stop"))
        self.transcript(tokens)

    @property
    def gauge(self) -> Gauge:
        return read(self.agent.meter, self.agent.spec.context)

    @property
    def samples(self) -> list[UsageSample]:
        return [decision.sample for decision in self.decisions if decision.sample is not None]

    def standing(self) -> list[str]:
        return [one.kind for one in self.agent.alerts]

    def told_reasons(self) -> list[str]:
        return [decision.reason for decision in self.decisions if decision.reason]


@pytest.mark.parametrize(
    ("tokens", "verdict", "percent"),
    [
        (0 + 1, "OK", 0.0), (143_999, "OK", 71.9), (144_000, "WARNING", 72.0), (179_995, "WARNING", 89.9),
        (179_999, "WARNING", 89.9), (180_000, "HANDOFF", 90.0), (199_999, "HANDOFF", 99.9), (210_000, "HANDOFF", 105.0),
    ],
)  # fmt: skip
def test_e4_e24_the_verdict_is_computed_from_tokens_and_not_from_a_rounded_percentage(
    tokens: int, verdict: str, percent: float
) -> None:
    found = read(Meter(tokens=tokens, status_line=WINDOW), ContextRules(predict=False))

    assert (found.verdict, found.percent) == (verdict, percent)


@given(st.integers(1, 100), st.integers(1, 1000), st.integers(1, 1000))
def test_e4_a_threshold_in_whole_percents_is_met_by_exactly_its_tokens(percent: int, many: int, size: int) -> None:
    """No hair's breadth of a float decides: k of 100k is k percent."""
    window = 100 * many * size
    rules = ContextRules(threshold=percent / 100, hard=1.0, predict=False)

    assert read(Meter(tokens=percent * many * size, status_line=max(window, 1)), rules).verdict == "HANDOFF"
    assert read(Meter(tokens=percent * many * size - 1, status_line=max(window, 1)), rules).verdict != "HANDOFF"


def test_e16_200_k_is_never_assumed_in_silence() -> None:
    story = Metered()
    story.transcript(150_000)

    assert story.gauge.tokens == 150_000
    assert (story.gauge.limit, story.gauge.percent, story.gauge.verdict) == (None, None, None)


def test_e18_unknown_is_never_0_and_never_a_percentage() -> None:
    story = Metered()
    assert row(story.agent, story.now).context is None
    story.status_line(WINDOW)
    assert row(story.agent, story.now).context is None, "no request has told any tokens"
    story.transcript(None)
    assert row(story.agent, story.now).context is None


def test_the_limit_comes_from_the_status_line_else_the_model_else_the_rollout_else_the_configuration() -> None:
    story = Metered(context=ContextRules(limit=111_000))
    story.transcript(50_000)
    assert (story.gauge.limit, story.gauge.source) == (111_000, "configuration")
    story.transcript(50_000, window=190_000)
    assert (story.gauge.limit, story.gauge.source) == (190_000, "rollout")
    began = hook_of("a", 1, "session-start", source="compact", session_id=story.session_id, model="opus[1m]")
    story.tell(replace(began, window=1_000_000))  # type: ignore[call-arg]
    assert (story.gauge.limit, story.gauge.source) == (1_000_000, "model")
    story.status_line(WINDOW)
    assert (story.gauge.limit, story.gauge.source) == (WINDOW, "status line")


@pytest.mark.parametrize("window", [0, 1, 999, 10**12, -5])
def test_a_status_line_that_claims_an_absurd_window_is_unknown_and_said_so(window: int) -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(100_000)
    story.status_line(window)

    assert (story.gauge.limit, story.gauge.verdict) == (None, None)
    assert f"claims a window of {window:,} tokens" in story.gauge.reason
    assert any("in doubt" in reason for reason in story.told_reasons())


def test_a_status_line_that_is_no_json_is_unknown_and_said_so_until_it_can_be_read() -> None:
    story = Metered()
    story.transcript(100_000)
    story.status_line(None, problem="the status line is no JSON")
    assert "no JSON" in story.gauge.reason
    story.status_line(None, problem="the status line is no JSON")
    assert sum("in doubt" in reason for reason in story.told_reasons()) == 1, "said once"
    story.status_line(WINDOW)
    assert (story.gauge.limit, story.gauge.verdict) == (WINDOW, "OK")


def test_a_window_that_shrinks_is_unknown_and_another_models_window_is_believed() -> None:
    story = Metered()
    story.transcript(100_000)
    story.status_line(1_000_000)
    story.status_line(WINDOW)
    assert story.gauge.verdict is None
    assert "shrank from 1,000,000 to 200,000" in story.gauge.reason
    story.status_line(WINDOW, model="haiku")
    assert (story.gauge.limit, story.gauge.verdict) == (WINDOW, "OK")


def test_while_the_status_line_is_in_doubt_only_the_operators_own_word_counts() -> None:
    story = Metered(context=ContextRules(limit=300_000))
    story.transcript(100_000, window=190_000)
    story.status_line(0)

    assert (story.gauge.limit, story.gauge.source) == (300_000, "configuration")


def test_e87_each_verdict_is_told_once_with_its_readings() -> None:
    story = Metered(context=ContextRules(predict=False))
    story.status_line(WINDOW)
    for tokens in (100_000, 110_000, 144_000, 150_000, 179_999, 180_000, 190_000, 195_000):
        story.transcript(tokens)

    told = [reason for reason in story.told_reasons() if reason.startswith("context ")]
    assert [reason.split(":")[0] for reason in told] == ["context OK", "context WARNING", "context HANDOFF"]
    decision = next(one for one in story.decisions if one.reason.startswith("context HANDOFF"))
    assert dict(decision.readings)["tokens"] == 180_000
    assert dict(decision.readings)["limit"] == WINDOW


def test_e87_a_share_is_told_to_the_millionth() -> None:
    story = Metered(context=ContextRules(predict=False))
    story.status_line(300_000)
    story.transcript(200_000)

    assert dict(story.decisions[-1].readings)["share"] == 0.666667


def test_f_ho_4_a_sudden_fall_resets_trend_and_verdict_and_triggers_nothing() -> None:
    story = Metered()
    story.status_line(WINDOW)
    for tokens in range(100_000, 150_000, 8_000):
        story.turn(tokens)
    assert story.gauge.verdict == "WARNING"
    story.turn(20_000)

    assert story.gauge.verdict == "OK"
    assert story.agent.meter.turns == (20_000,)
    assert any("fell from 148,000 to 20,000" in reason for reason in story.told_reasons())


def test_a_compaction_is_unknown_until_the_next_request() -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(150_000)
    story.transcript(None)
    assert story.gauge.tokens is None
    assert story.gauge.verdict is None
    story.transcript(30_000)
    assert story.gauge.verdict == "OK"


def test_e79_a_handoff_is_predicted_from_the_trend_and_the_reason_says_so() -> None:
    story = Metered()
    story.status_line(WINDOW)
    for tokens in (60_000, 80_000, 100_000, 120_000, 140_000):
        story.turn(tokens)
    assert story.gauge.verdict == "OK"
    story.turn(165_000)

    assert story.gauge.verdict == "HANDOFF"
    assert any(reason.startswith("context HANDOFF: predictive: ") for reason in story.told_reasons())


@pytest.mark.parametrize(
    ("turns", "tokens"),
    [
        ((100_000, 120_000, 140_000, 160_000, 175_000), 175_000),  # five are too few
        ((1_000, 2_000, 3_000, 4_000, 5_000, 139_999), 139_999),  # below 70 %
        ((60_000, 80_000, 90_000, 100_000, 110_000, 139_998), 139_998),  # a typical turn is smaller than that
        ((145_000, 146_000, 147_000, 148_000, 149_000, 150_000), 150_000),  # it grows slowly
        ((), 170_000),
    ],
)
def test_e79_nothing_is_predicted_of_few_samples_below_70_percent_or_of_slow_growth(
    turns: tuple[int, ...], tokens: int
) -> None:
    assert trend.crossing(turns, tokens, WINDOW, 0.9) is None


@pytest.mark.parametrize(
    ("turns", "predicted"),
    [
        ((0, 40_000, 80_000, 120_000, 130_000, 140_000), True),  # 70 %, and 40,000 more are 90 %
        ((1, 40_001, 80_001, 120_001, 130_001, 139_999), False),  # below 70 %
        ((0, 39_998, 79_996, 119_994, 130_000, 140_000), False),  # a turn takes 39,998, which are 90 % almost
        ((0, 40_000, 80_000, 90_000, 100_000, 140_000), True),
        ((0, 40_000, 80_000, 90_000, 100_000, 110_000, 140_000), False),  # the middle between 10,000 and 30,000
    ],
)
def test_e79_a_handoff_is_predicted_at_70_percent_where_a_typical_turn_reaches_the_threshold(
    turns: tuple[int, ...], predicted: bool
) -> None:
    assert (trend.crossing(turns, turns[-1], WINDOW, 0.9) is not None) is predicted


def test_e79_a_context_that_fell_by_more_than_a_tenth_begins_its_samples_anew() -> None:
    assert trend.following((50_000, 100_000), 90_000) == (50_000, 100_000, 90_000)
    assert trend.following((50_000, 100_000), 89_999) == (89_999,)
    assert trend.following((), 100) == (100,)
    assert trend.following((50_000, 100_000), 100_000) == (50_000, 100_000)
    full = tuple(range(trend.MOST_SAMPLES))
    assert trend.following(full, 99) == (*full[1:], 99)


def test_e79_prediction_can_be_switched_off() -> None:
    meter = Meter(tokens=165_000, status_line=WINDOW, turns=(60_000, 80_000, 100_000, 120_000, 140_000, 165_000))

    assert read(meter, ContextRules()).verdict == "HANDOFF"
    assert read(meter, ContextRules(predict=False)).verdict == "WARNING"


def test_a_sample_is_kept_per_hundredth_of_the_window_or_after_five_minutes() -> None:
    story = Metered()
    story.status_line(WINDOW)
    for tokens in (100_000, 100_500, 101_999, 102_000, 102_001):
        story.transcript(tokens)
    assert [sample.tokens for sample in story.samples] == [100_000, 102_000]
    story.transcript(102_500)
    story.wait(301)
    story.transcript(102_500)
    story.transcript(102_500)
    assert [sample.tokens for sample in story.samples] == [100_000, 102_000, 102_500]
    assert (story.samples[-1].limit, story.samples[-1].source) == (WINDOW, "status line")


def test_a_reading_that_changes_neither_window_nor_verdict_is_no_row() -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(100_000)
    rows = len(story.told_reasons())
    for tokens in range(100_100, 101_000, 100):
        story.transcript(tokens)

    assert len(story.told_reasons()) == rows


def test_f_ho_3_the_window_of_a_later_generation_is_named_in_the_table_of_its_seat() -> None:
    """No table of the configuration has a generation's name."""
    later = replace(Metered().agent, spec=as_generation(BOSS, seat_of(BOSS), 2))
    (alert,) = parts.tell(later, Moment(600.0, EPOCH)).actions

    assert isinstance(alert, Alert)
    assert alert.text.endswith("[agent.boss.context] limit = TOKENS")


def test_f_ho_3_unknown_for_ten_minutes_of_work_is_an_alert_told_once_and_over_when_it_is_known() -> None:
    story = Metered()
    story.wait(599)
    assert not story.standing()
    story.wait(2)
    assert story.standing() == [parts.UNKNOWN]
    story.wait(200)
    assert story.alerts() == [parts.UNKNOWN]
    story.status_line(WINDOW)
    assert story.standing() == [parts.UNKNOWN]
    story.transcript(30_000)
    assert story.standing() == []


@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.EPHEMERAL])
def test_nobody_is_called_for_an_unknown_context_on_which_nothing_hangs(kind: Kind) -> None:
    story = Metered(kind=kind)
    story.wait(800)

    assert story.standing() == []


def test_an_idle_orchestrator_has_no_deadline_of_the_meter() -> None:
    story = Metered()
    story.tell(hook_of("a", 1, "stop"))

    assert parts.due(story.agent) is None


def test_metered_idle_agents_ask_for_no_moment_and_what_they_say_again_is_no_row() -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(100_000)
    story.tell(hook_of("a", 1, "stop"))
    (seat,) = story.fleet.seats.values()
    metered, bare = (
        story.fleet,
        replace(story.fleet, agents=story.fleet.roster.taking(replace(story.agent, meter=Meter()))),
    )
    for number in range(20):
        spec = replace(story.agent.spec, name=f"a{number}", seat=f"a{number}")
        agent = replace(story.agent, spec=spec)
        seats = {**metered.seats, spec.name: replace(seat, name=spec.name, project=spec.name)}
        metered = replace(metered, agents=metered.roster.taking(agent), seats=seats)
        bare = replace(bare, agents=bare.roster.taking(replace(agent, meter=Meter())), seats=seats)

    assert next_deadline(metered, story.now) == next_deadline(bare, story.now), "the meter asks for no moment"
    for agent in metered.agents.values():
        again = UsageSeen(agent.name, 1, 100_000, None, "transcript", agent.meter.at_wall, story.session_id)
        heard = step(metered, again, story.now)
        assert [one for one in heard.decisions if one.is_worth_keeping or one.sample is not None] == []
        assert next_deadline(heard.fleet, story.now) == next_deadline(metered, story.now)


def test_after_a_compaction_the_patience_begins_with_the_next_prompt() -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(150_000)
    story.tell(hook_of("a", 1, "stop"))
    story.wait(1000)
    story.transcript(None)
    story.wait(1000)
    story.tell(hook_of("a", 1, "prompt-submit", text="go on"))
    assert parts.due(story.agent) == story.at + parts.PATIENCE


def test_words_of_another_session_and_of_an_older_incarnation_change_nothing() -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(150_000)
    before = story.agent
    story.transcript(10, session_id="another")
    story.tell(UsageSeen("a", 7, 10, None, "transcript", story.wall))

    assert story.agent is before


def test_a_cleared_session_begins_empty_and_keeps_the_window_of_its_model() -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(150_000)
    story.tell(hook_of("a", 1, "session-start", source="clear", session_id="s2"))
    assert row(story.agent, story.now).context is None
    story.transcript(3_000)
    assert (story.gauge.tokens, story.gauge.limit) == (3_000, WINDOW)
    assert story.agent.meter.turns == (3_000,)


def test_an_older_journal_has_no_meter_and_a_saved_one_comes_back() -> None:
    story = Metered()
    story.status_line(WINDOW)
    story.transcript(150_000)

    assert load_agent(dump_agent(story.agent)).meter == story.agent.meter
    older = json.loads(dump_agent(story.agent))
    del older["meter"]
    assert load_agent(json.dumps(older)).meter == Meter()


def test_a_reading_of_an_earlier_run_does_not_end_the_alert_of_this_one() -> None:
    """The alert was over as soon as it was raised, and the alarm rang for ever."""
    story = Story(claude(kind=Kind.ORCHESTRATOR)).works()
    story.tell(UsageSeen("a", 1, 100_000, 200_000, "transcript", story.wall))
    story.restart()
    story.exited(143)
    story.works()
    story.wait(1200)
    assert story.alerts().count("context unknown") == 1


def test_a_meter_that_was_never_read_in_this_run_begins_with_the_run() -> None:
    story = Story(claude())
    story.pass_over(100)
    story.works()
    assert parts.of(replace(story.agent, incarnation=9)).since == story.run.began == 100
    story.stop()
    story.exited(signal=15)
    assert parts.of(replace(story.agent, incarnation=9)).since == 0
