"""The first two lines: what needs me, is everything alive, what happened since I looked. Neither is ever cut."""

from __future__ import annotations

from phoenixd.api.times import ago
from phoenixd.top.face import World
from phoenixd.top.frames import Json
from phoenixd.top.groups import group_of
from phoenixd.top.spans import Line, Span, Style, first_that_fits, fitted, line, safe
from phoenixd.top.words import wall_of

QUIET = 5.0
"""Seconds without a word of the daemon after which the screen says how old it is."""


DOWN = ("stopped", "starting", "parked by a limit", "quarantined")
"""What those are that have no process, in the words of `status`."""


def lines(world: World) -> list[Line]:
    """One line where the screen is low, else two."""
    told = [fitted(_first(world), world.width), fitted(_second(world), world.width)]
    return told[: world.head_room]


def is_quiet(world: World) -> bool:
    """Whether what is shown may be old."""
    return world.model.heard_at is None or world.model.silence(world.clock.at) > QUIET


def is_connecting(world: World) -> bool:
    """Whether the first answer is not whole yet, and may still be in its usual time: half of it would count wrongly."""
    asked = world.asked_at
    return world.model.last_id is None and asked is not None and world.clock.at - asked <= QUIET


def _first(world: World) -> Line:
    if is_connecting(world):
        words = [f"phoenixd {safe(world.host)}   CONNECTING", "CONNECTING", "..."]
        return line(" ", Span(first_that_fits(words, world.width - 1), "strong"))
    rows = [told.body for told in world.model.agents.values()]
    groups = [group_of(row) for row in rows]
    alive = sum(map(_is_alive, rows))
    raised = [told.body for told in world.model.alerts.values()]
    of_nobody = [one for one in raised if one.get("agent") is None and one.get("needs_you")]
    need = groups.count("needs_you") + len(of_nobody)
    healing, unknown = groups.count("healing"), sum(map(_is_unknown, rows))
    needs = f"{need} NEED{'S' if need == 1 else ''} YOU"
    style: Style = "need" if need else "strong"
    if is_quiet(world):
        style = "unknown"
        age = f" {ago(world.model.silence(world.clock.at))}" if world.model.heard_at is not None else ""
        needs = f"NOT LIVE{age}: {needs}"
    clock = world.clock.time_of_day(world.clock.wall)
    host = f"phoenixd {safe(world.host)}".rstrip()
    alive_of = f"{alive}/{len(rows)} alive"
    down = [_down(row) for row in rows]
    waits = "".join(f"  {down.count(word)} {word}" for word in DOWN if word in down)
    degraded = "  DEGRADED" if any(told.body.get("kind") == "degraded" for told in world.model.alerts.values()) else ""
    rest = f"{alive_of}{waits}  {healing} healing  {unknown} unknown{degraded}"
    seen = _of_these(world, rows, of_nobody)
    variants = [
        f"{needs}{seen}   {rest}",
        *([f"{needs}{seen}  {alive_of} ~{healing} ?{unknown}{degraded}"] if seen else []),
        f"{needs}   {rest}",
        f"{needs}  {alive_of} ~{healing} ?{unknown}{degraded}",
        f"{needs} {alive}/{len(rows)}",
        needs,
    ]
    told = first_that_fits(variants, world.width - 2)
    before = f" {host}   " if len(host) + len(told) + len(clock) + 8 <= world.width else " "
    after = f"{clock} " if len(before) + len(told) + len(clock) + 3 <= world.width else ""
    blank = " " * (world.width - len(before) - len(told) - len(after))
    return line(before, Span(told[: len(needs)], style), Span(told[len(needs) :]), blank, after)


def _of_these(world: World, rows: list[Json], alerts: list[Json]) -> str:
    """How many of those that need a person were seen, or are told to nobody, in the words of `status`."""
    needy = [row for row in rows if group_of(row) == "needs_you"]
    seen = sum(world.model.is_acknowledged(row) for row in needy)
    seen += sum(one.get("acknowledged") is not None for one in alerts)
    counts = ((seen, "acknowledged"), (sum(bool(row.get("muted_until")) for row in needy), "muted"))
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f" ({told})" if told else ""


def _is_alive(row: Json) -> bool:
    """Of whom nothing is known nobody says that it lives; a loop between two iterations is well, and has no process."""
    is_between_runs = group_of(row) == "working" and row["state"] == "backing_off"
    return not _is_unknown(row) and (row.get("pid") is not None or is_between_runs)


def _is_unknown(row: Json) -> bool:
    """Whether nobody can say how it is; one that cannot be heard is so also where it needs a person for that."""
    return group_of(row) == "unknown" or bool(row.get("link_lost_since"))


def _down(row: Json) -> str | None:
    """What an agent without a process is; None where its group says it."""
    if row.get("pid") is not None or group_of(row) in ("healing", "unknown"):
        return None
    if row["state"] == "stopped":
        return "stopped"
    if row.get("parked_until"):
        return "parked by a limit"
    if row["state"] == "quarantined":
        return "quarantined"
    return "starting" if row["state"] == "starting" else None


def _second(world: World) -> Line:
    if is_connecting(world):
        return line(" ", first_that_fits(["Asking phoenixd about all agents.", "Asking phoenixd."], world.width - 1))
    if is_quiet(world):
        variants = (
            "phoenixd does not answer; agents run on without it. Asking again.",
            "phoenixd does not answer",
            "no answer",
        )
        return line(" ", Span(first_that_fits(variants, world.width - 1), "unknown"))
    chosen = f" filter: {safe(world.face.filter)}" if world.face.filter else ""
    marks = f" {len(world.face.marks)} marked" if world.face.marks else ""
    if chosen or marks:
        ends = "Esc ends the filter" if chosen else "Esc takes the marks away"
        return line(first_that_fits([f"{chosen}{marks}   ({ends})", f"{chosen}{marks}"], world.width))
    return line(" ", first_that_fits(_since(world), world.width - 1))


def _since(world: World) -> list[str]:
    found = world.face.since
    if found is None:
        return ["since you looked: ?", "since: ?"]
    wall, deaths = wall_of(found.get("from")), found["deaths"]
    when = f"since {world.clock.start(wall)}" if wall is not None else "since ever"
    total = int(deaths["total"])
    if not total:
        told = ["no deaths"]
    else:
        count = "1 death" if total == 1 else f"{total} deaths"
        # "healing" is a word for agents, which the first line counts.
        again, away = int(deaths.get("running_again", 0)), int(deaths["healing"])
        apart = [(again, "running again"), (away, "not back")]
        told = [f"{count}: {_ends(deaths, open_ones)}" for open_ones in (apart, [(again + away, "not healed yet")])]
        told.append(count)
    unstarted = found.get("unstarted") or []
    failed = [f"{safe(unstarted[0]) if len(unstarted) == 1 else len(unstarted)} not started"] if unstarted else []
    more = [f"{found[key]} {one if found[key] == 1 else many}" for key, one, many in _MORE if found.get(key)]
    more = [*failed, *more]
    shortest = told[-1]
    return [" · ".join([f"{when}: {told[0]}", *more]), *(f"{when}: {one}" for one in told), shortest]


def _ends(deaths: Json, open_ones: list[tuple[int, str]]) -> str:
    # Deaths of a story that was healed as one: with them the ends add up to the total.
    more = f"healed after {deaths['repeated']} more" if deaths.get("repeated") else "healed"
    released = deaths.get("released", 0)
    ends = [
        (deaths["healed"], more), *open_ones, (deaths["quarantined"], "quarantined"),
        (deaths["ended"], "stopped or removed"), (deaths.get("returned", 0), "came back, stopped and started since"),
        (released, f"{'was' if released == 1 else 'were'} down, started since"),
    ]  # fmt: skip
    return ", ".join(f"{number} {word}" for number, word in ends if number)


_MORE = (
    ("outages", "outage", "outages"),
    ("finished", "finished", "finished"),
    ("iterations", "iteration", "iterations"),
    ("not_delivered", "text not delivered", "texts not delivered"),
)
