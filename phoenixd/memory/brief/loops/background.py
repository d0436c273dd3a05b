"""Background jobs and wake-ups that ended with the process that they lived in."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.documents.ledger_rows import Job, Timer, digest
from phoenixd.documents.loop_origin import extra
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import Found, Seen, quoted, source_in

KIND = "background"
SHOWN = 220
CALL = "call"
"""The key of a loop that tells one beginning of a command from another."""


def found(seen: Seen) -> Iterator[Found]:
    known: list[str] = []
    for job in _dead(seen):
        known.append(normal(job.what))
        yield Found(KIND, _job_source(job.what), _job_text(job.what), job.began, extras={CALL: _mark(job.call)})
    for timer in _dead_timers(seen):
        known += [normal(timer.prompt), normal(timer.when)]
        yield Found(KIND, _timer_source(timer), _timer_text(timer), timer.began, extras={CALL: _mark(timer.call)})
    for what in seen.around.lost:
        if not any(one and (one in normal(what) or normal(what) in one) for one in known):
            yield Found(KIND, _job_source(what), _job_text(what), seen.around.lost_at)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    mine = source_in(loop, seen.session)
    if any(one.source == mine or one.text == loop.text for one in found(seen)):
        return None
    if mine:
        return _told(mine, extra(loop, CALL), seen)
    begun = [run.text for run in seen.ledger.runs.values()] + [job.what for job in seen.ledger.jobs.values()]
    begun += [command.text for command in seen.ledger.running()]
    if any(len(normal(what)) > 3 and normal(_shown(what)) in normal(loop.text) for what in begun):
        return "it was begun again"
    timers = [text for timer in seen.ledger.timers.values() for text in (timer.prompt, timer.when)]
    return "it was set again" if any(len(normal(one)) > 3 and quoted(one) in loop.text for one in timers) else None


def _told(source: str, call: str, seen: Seen) -> str | None:
    """What the rows of its own session say of it. A ledger that has none of it, or none newer, says nothing."""
    jobs = [job for job in seen.ledger.jobs.values() if _job_source(job.what) == source]
    if jobs and jobs[-1].is_over:
        return "its end was told"
    if any(_mark(job.call) != call for job in jobs[-1:]):
        return "it was begun again"
    since = jobs[-1].began if jobs else None
    begun = [(run.text, run.call, run.began) for run in seen.ledger.runs.values()]
    begun += [(one.text, one.call, one.at) for one in seen.ledger.running()]
    for what, made, began in begun:
        if _job_source(what) == source and _mark(made) != call and (began or 0.0) > (since or 0.0):
            return "it was begun again"
    timers = [timer for timer in seen.ledger.timers.values() if _timer_source(timer) == source]
    return "it was set again" if any(_mark(timer.call) != call for timer in timers[-1:]) else None


def _dead(seen: Seen) -> Iterator[Job]:
    """The newest of each, unless a run or job of the same words began after it."""
    jobs = seen.ledger.jobs
    newest = {normal(job.what): job for job in jobs.values()}
    for name, job in newest.items():
        began_again = any(
            normal(run.text) == name and run.call != job.call and (run.began or 0.0) > (job.began or 0.0)
            for run in seen.ledger.runs.values()
        )
        if not job.is_over and not began_again and seen.is_dead(job.began):
            yield job


def _dead_timers(seen: Seen) -> Iterator[Timer]:
    newest = {normal(timer.when + timer.prompt): timer for timer in seen.ledger.timers.values()}
    for timer in newest.values():
        if not timer.is_durable and seen.is_dead(timer.began):
            yield timer


def _job_source(what: str) -> str:
    return f"job {_name(what)}"


def _timer_source(timer: Timer) -> str:
    return f"timer {_name(timer.when + timer.prompt)}"


def _mark(call: str) -> str:
    return digest(call)[:8]


def _name(what: str) -> str:
    return digest(normal(what))[:8]


def _shown(what: str) -> str:
    return one_line(what, SHOWN).replace("`", "'").rstrip("…")


def _job_text(what: str) -> str:
    return f"Ended with its process: `{one_line(what, SHOWN).replace('`', chr(39))}`"


def _timer_text(timer: Timer) -> str:
    prompt = quoted(timer.prompt or timer.when)
    when = f" ({one_line(timer.when, 80)})" if timer.prompt and timer.when else ""
    return f"A wake-up ended with its process{when}: {prompt}"
