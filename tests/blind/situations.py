"""Plays the corpus of liveness and restart: each situation against `step`, and what came of it against its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from phoenixd.core.agent.run import Run
from phoenixd.core.agent.state import Parked, Running, Starting
from phoenixd.core.events.orders import RestartRequested, SendRequested, StartRequested, StopRequested
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.hooks import hook_of
from tests.blind.tables import Faults, Outcome, Table, quantity, times
from tests.blind.world import World

LATE = 120.0
"""Seconds by which an end may come later than the verdict says, or one check_interval where that is more."""
ROUNDING = 1.0
NUMBERS = frozenset({"max_crashes", "max_unproductive"})


def play(case: Table) -> Outcome:
    """Let one situation happen, and say where it came out otherwise than it must."""
    situation = _Situation(case)
    expect = case["expect"]
    situation.world.play(quantity(expect["until"]))
    return _judge(case["id"], situation, expect)


class _Situation:
    """One row of the corpus and the world in which it happens."""

    def __init__(self, case: Table) -> None:
        self.case = case
        self.counts: dict[str, int] = {}
        self.world: World
        specs = [_spec(case, number) for number in range(1, case.get("agents", 1) + 1)]
        self.names = [spec.name for spec in specs]
        self.check_interval = specs[0].liveness.check_interval
        self._waiting: list[tuple[str, Run]] = []
        self.world = World(specs, self._begins)
        for row in case.get("steps", ()):
            for at in times(row):
                for name in self._whose(row):
                    self.world.at(at, self._act(name, row, None))

    def _whose(self, row: Table) -> list[str]:
        return [self.names[row["agent"] - 1]] if "agent" in row else self.names

    def _begins(self, name: str, run: Run) -> None:
        self.counts[name] = number = self.counts.get(name, 0) + 1
        scripts = self.case.get("run")
        rows = scripts[min(number, len(scripts)) - 1]["steps"] if scripts else self.case.get("each_run", ())
        rows = [row for row in rows if name in self._whose(row)]
        if not any(row.get("cause") == "refused" for row in rows):
            self.world.greets(name)
        for row in rows:
            for at in times(row):
                self.world.at(self.world.elapsed + at, self._act(name, row, run.incarnation))

    def _act(self, name: str, row: Table, incarnation: int | None) -> Any:
        def act() -> None:
            run = self.world.agent(name).run
            whole_host = row["do"] in ("suspend", "clock", "daemon-down", "operator")
            if whole_host or (run is not None and incarnation in (None, run.incarnation)):
                _do(self.world, name, row)

        # What happens to the host or on a screen needs no daemon to be true.
        unheard = row["do"] in ("suspend", "clock", "screen", "changes-work", "daemon-down")
        return act if unheard else self.world.watched(act)


def _spec(case: Table, number: int) -> AgentSpec:
    hooks = case.get("harness", "claude") == "claude"
    spec = AgentSpec(
        name=f"agent{number}",
        argv=("agent", "--work"),
        cwd="/srv/shop",
        kind=Kind(case.get("kind", "resident")),
        harness="claude" if hooks else "command",
        prompt=None if case.get("idle") else "Build the shop.",
        account="team",
        heartbeat_file=None if hooks else "/srv/shop/beat.json",
    )
    for key, value in case.get("settings", {}).items():
        table, _, name = key.partition(".")
        rules = getattr(spec, table)
        spec = replace(spec, **{table: replace(rules, **{name: _setting(name, value)})})
    return spec


def _setting(name: str, value: Any) -> Any:
    if name == "policy":
        return RestartPolicy(value)
    return value if name in NUMBERS or name == "session" else quantity(value)


def _do(world: World, name: str, row: Table) -> None:
    run = world.agent(name).run
    incarnation = run.incarnation if run is not None else 0
    match row["do"]:
        case "prompt":
            _prompt(world, name, row.get("by", "person"))
        case "tool-start" | "tool-end" | "tool-failure" as kind:
            world.say(name, kind, tool_name=row["tool"], tool_use_id=row.get("call", "t"), **_call(row))
        case "stop":
            world.say(name, "stop")
        case "stop-failure":
            reset = world.wall + quantity(row["reset"]) if "reset" in row else None
            world.hear(hook_of(name, incarnation, "stop-failure", error=row["error"], reset_wall=reset))
        case "hook":
            world.say(name, row["kind"], **({"notification_type": row["type"]} if "type" in row else {}), **_call(row))
        case "asks":
            world.screens[name] = "permission"
            world.say(name, "permission-request", tool_name=row.get("tool", "Bash"), tool_input={"command": "make"})
        case "answered":
            world.screens.pop(name, None)
            if not row.get("allow", True):
                world.say(name, "permission-denied", tool_name=row.get("tool", "Bash"))
        case "transcript":
            world.evidence(name, "transcript")
        case "heartbeat":
            claims = row["claims"]
            world.evidence(name, "heartbeat", world.wall if claims == "1970" else -quantity(claims))
        case "work":
            in_call = row.get("began", "after") == "after" and row.get("whose", "tool") == "tool"
            world.works(name, quantity(row.get("cpu", 0)), quantity(row.get("io", 0)), in_call)
        case "changes-work":
            world.work[name] += 1
        case "dies":
            _dies(world, name, incarnation, row)
        case "operator":
            verbs: dict[str, Any] = {"stop": StopRequested, "start": StartRequested, "restart": RestartRequested}
            world.tell(verbs[row["verb"]](name))
        case "suspend":
            world.wall += quantity(row["lasts"])
        case "clock":
            world.wall += quantity(row["by"])
        case "daemon-down":
            world.daemon_down(quantity(row["lasts"]))
        case "screen":
            world.screens[name] = "question" if row["shows"] == "dialog" else row["shows"]
        case "output":
            pass
        case other:
            raise ValueError(f"the corpus has a step that nobody plays: {other}")


def _call(row: Table) -> dict[str, Any]:
    given: dict[str, Any] = {"agent_id": "explorer"} if row.get("sub") else {}
    if row["do"] == "tool-start":
        asked: dict[str, Any] = {"command": "make"}
        if "timeout" in row:
            asked["timeout"] = int(quantity(row["timeout"]) * 1000)
        if row.get("background"):
            asked["run_in_background"] = True
        given["tool_input"] = asked
    return given


def _prompt(world: World, name: str, by: str) -> None:
    if by == "send":
        world.tell(SendRequested(name, f"m{world.elapsed}", "Go on, please."))
        return
    words = "<task-notification>done</task-notification>" if by == "machine" else f"Do this ({world.elapsed})."
    world.say(name, "prompt-submit", prompt=words)


def _dies(world: World, name: str, incarnation: int, row: Table) -> None:
    cause = row.get("cause", "")
    if cause == "reboot":
        world.reboots()
        return
    code, signal = row.get("code"), row.get("signal")
    if cause == "refused":
        code = 1 if code is None and signal is None else code
    if cause in ("oom", "host-oom", "terminal_lost") and code is None and signal is None:
        signal = 1 if cause == "terminal_lost" else 9
    told: dict[str, Any] = {"cause": "terminal_lost"} if cause == "terminal_lost" else _oom(cause)
    world.dies(name, incarnation, code, signal, **told)


def _oom(cause: str) -> dict[str, Any]:
    return {"oom": {"oom": "agent", "host-oom": "host"}[cause]} if cause in ("oom", "host-oom") else {}


def _judge(case: str, situation: _Situation, expect: Mapping[str, Any]) -> Outcome:
    faults = Faults()
    for name in situation.names:
        _judge_agent(situation, name, expect, faults)
    for kind, count in expect.get("alerts", {}).items():
        if (raised := situation.world.alerts[kind]) != count:
            faults.other.append(f"{raised} alerts of {kind}, not {count}")
    return faults.outcome(case)


def _judge_agent(situation: _Situation, name: str, expect: Mapping[str, Any], faults: Faults) -> None:
    world, agent = situation.world, situation.world.agent(name)
    if "ended" in expect:
        _judge_ends(world.ends[name], expect["ended"], max(LATE, situation.check_interval), faults)
    modes = world.modes[name]
    if (starts := expect.get("starts", len(modes))) != len(modes):
        faults.other.append(f"{name}: {len(modes)} starts, not {starts}")
    if len(modes) > expect.get("starts_at_most", len(modes)):
        faults.missed.append(f"{name}: {len(modes)} starts, at most {expect['starts_at_most']}")
    if len(modes) < expect.get("starts_at_least", 0):
        faults.false_kill.append(f"{name}: {len(modes)} starts, at least {expect['starts_at_least']}")
    wanted = expect.get("modes", [])
    if modes[: len(wanted)] != list(wanted):
        faults.other.append(f"{name}: began {modes[: len(wanted)]}, not {wanted}")
    if "state" in expect and expect["state"] != (state := agent.state_name):
        alive = expect["state"] in ("running", "backing_off", "parked")
        told = faults.false_kill if alive and state in ("stopped", "quarantined") else faults.missed
        told.append(f"{name}: {state}, not {expect['state']} ({agent.reason})")
    if "waits" in expect:
        live = agent.state if isinstance(agent.state, Starting | Running) else None
        waits = live is not None and live.activity.waiting is not None and not isinstance(agent.state, Parked)
        waits = waits or agent.item is not None
        if waits != expect["waits"]:
            faults.other.append(f"{name}: it {'waits' if waits else 'does not wait'} for a person")


def _judge_ends(found: list[tuple[float, str]], wanted: list[Table], late: float, faults: Faults) -> None:
    if not wanted and found:
        faults.false_kill.append(f"ended as {found[0][1]} after {found[0][0] / 60:.1f} min")
    for number, end in enumerate(wanted):
        due = quantity(end["at"])
        if number >= len(found):
            faults.missed.append(f"not ended, due as {end['as']} after {due / 60:.1f} min")
            continue
        at, kind = found[number]
        said = f"ended as {kind} after {at / 60:.1f} min, due as {end['as']} after {due / 60:.1f}"
        if at < due - ROUNDING:
            faults.false_kill.append(said)
        elif at > due + late or kind != end["as"]:
            faults.missed.append(said)
