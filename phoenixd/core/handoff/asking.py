"""What is asked of handoffs and told of them: requests, acks, work on files, texts. Parts of the table."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.handoffs import (
    HandoffAcked,
    PackageChecked,
    PackageFailed,
    PackageWritten,
    PapersFailed,
    PapersUpdated,
)
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    HandoffRequested,
    RollbackRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.fleet import Fleet, Step, answer, put
from phoenixd.core.handoff import ack_file, freezing, letters, machine, move, orders, verdict, work
from phoenixd.core.handoff import state as states
from phoenixd.core.handoff.following import begin, name_taken, orders_of_others, taken
from phoenixd.core.handoff.move import WORK_LIMIT, Move
from phoenixd.core.handoff.state import Claim, Handoff, Letter, Said
from phoenixd.core.hooks import TurnEnded
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import WORDING, UsageSample, read
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding
from phoenixd.core.seat.door import refusal_of_left_over
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat

MOST_REFUSED = 200
"""Characters of why an ack was refused that are kept."""

MOST_LETTERS = 20
"""Texts that wait for the holder of afterwards."""


def at_the_door(before: Fleet, event: Event, now: Moment) -> Step | None:
    """What waits while a handoff is under way: texts are kept for the next holder, and a start changes nothing."""
    if not isinstance(event, SendRequested | StartRequested):
        return None
    seat = finding.ordered(before, event.agent)
    holder = before.agents.get(seat.holder) if seat is not None else None
    if seat is None or holder is None or holder.removing or seat.handoff is None or seat.handoff.is_over:
        return None
    handoff = seat.handoff
    if isinstance(event, SendRequested) and any(one.message_id == event.message_id for one in letters.texts(handoff)):
        return answer(Step(before), Decision(holder, reason="that text waits already"), now)
    if isinstance(event, StartRequested):
        if holder.run is not None or not handoff.is_before_fence:
            return None
        told = Decision(holder, reason=f"start asked by {event.by}: its handoff {handoff.id} goes on", weight="story")
        return answer(Step(before), told, now)
    if len(handoff.letters) >= MOST_LETTERS:
        refusal = Refusal(
            "conflict", f"{MOST_LETTERS} texts wait for the end of handoff {handoff.id} already",
            f"phoenixctl handoff status {seat.name}",
        )  # fmt: skip
        return answer(Step(before), Decision(holder, refusal=refusal), now)
    letter = Letter(event.message_id, event.text, event.by)
    kept = _kept(Step(before), replace(handoff, letters=(*handoff.letters, letter)))
    why = f"{len(event.text)} characters from {event.by} wait for the holder after handoff {handoff.id}"
    return answer(kept, Decision(holder, reason=why, weight="story"), now)


def request(before: Fleet, found: Step, event: HandoffRequested, now: Moment) -> Step:
    """An operator, or the orchestrator itself, wants the seat handed over."""
    seat = finding.ordered(before, event.agent)
    holder = before.agents.get(seat.holder) if seat is not None else None
    if seat is None or holder is None:
        return replace(found, refusal=_no_seat(before, event.agent))
    why_not = _why_not(found, seat)
    if why_not is not None:
        return answer(found, Decision(holder, refusal=why_not), now)
    return begin(found, seat, "operator", event.why, event.by, now)


def roll_back(before: Fleet, found: Step, event: RollbackRequested, now: Moment) -> Step:
    """An operator wants the predecessor to go on."""
    seat = finding.ordered(before, event.agent)
    holder = before.agents.get(seat.holder) if seat is not None else None
    if seat is None or holder is None:
        return replace(found, refusal=_no_seat(before, event.agent))
    handoff = seat.handoff
    if handoff is not None and handoff.again and handoff.step is states.Step.ROLLBACK:
        return taken(found, move.kept_back(handoff, f"called off by {event.by}", recalled=True), now)
    if handoff is None or not handoff.is_before_fence:
        if (over := finding.left_over(before, seat)) is not None:
            return answer(found, Decision(holder, refusal=refusal_of_left_over(seat, over)), now)
        step = f"its last one, {handoff.id}, is at {handoff.step.value}" if handoff is not None else "it had none"
        refusal = Refusal(
            "conflict", f"no handoff of {seat.name} can be rolled back: {step}",
            f"phoenixctl handoff status {seat.name}",
        )  # fmt: skip
        return answer(found, Decision(holder, refusal=refusal), now)
    return taken(found, move.back(handoff, f"asked by {event.by}", now, recalled=True), now)


def acknowledge(before: Fleet, found: Step, event: HandoffAcked, now: Moment) -> Step:
    """A successor says that it has loaded what it was handed; it is believed by what it quotes."""
    agent = before.agents.get(event.agent)
    seat = before.seats.get(agent.spec.seat) if agent is not None and agent.spec.seat else None
    if agent is None or seat is None:
        return replace(found, refusal=Refusal("not_found", f"{event.agent} is no generation of a seat", ""))
    handoff = seat.handoff
    if handoff is None:
        refusal = Refusal("conflict", f"{seat.name} has had no handoff", f"phoenixctl handoff status {seat.name}")
        return answer(found, Decision(agent, refusal=refusal), now)
    if event.changed and handoff.step is states.Step.AWAIT_ACK and event.package != handoff.package:
        rewriting = work.changed(handoff, now)
        if rewriting is None:
            why = f"the package file was changed again after it was written {move.MOST_ATTEMPTS} times more"
            refusal = Refusal("conflict", why, f"phoenixctl handoff status {seat.name}")
            return answer(found, Decision(agent, refusal=refusal), now)
        found = taken(found, rewriting, now)
        why = "the package file was changed after it was written; it is being written again: read it again, then ack"
        return answer(found, Decision(agent, refusal=Refusal("conflict", why, "phoenixctl handoff ack")), now)
    why_refused = verdict.refusal(handoff, agent.spec.generation, event.package, event.word, event.facts)
    if why_refused is not None:
        if agent.spec.generation == handoff.successor and not handoff.is_over:
            found = _kept(found, replace(handoff, refused=why_refused[:MOST_REFUSED]))
        refusal = Refusal("conflict", why_refused, f"phoenixctl handoff status {seat.name}")
        return answer(found, Decision(agent, refusal=refusal), now)
    if event.missing or event.missing_artifacts:
        lacks = "; ".join(filter(None, (event.missing, event.missing_artifacts)))[:MOST_REFUSED]
        rewriting = work.rewritten(handoff, f"{lacks}: the package is written again", now)
        if rewriting is not None:
            found = taken(found, replace(rewriting, handoff=replace(rewriting.handoff, refused=lacks)), now)
            why = f"{lacks}: the package is being written again from what is there; read it again, then ack"
            return answer(found, Decision(agent, refusal=Refusal("conflict", why, "phoenixctl handoff ack")), now)
        if event.missing:
            found = _kept(found, replace(handoff, refused=lacks))
            why = f"{lacks}, though the package was written {move.MOST_ATTEMPTS} times more"
            refusal = Refusal("conflict", why, f"phoenixctl handoff status {seat.name}")
            return answer(found, Decision(agent, refusal=refusal), now)
    share = read(meters.of(agent), agent.spec.context).share
    acked = machine.acked(handoff, share)
    if event.missing_artifacts:
        # Workers go on meanwhile, and one of them may remove files all the time. The addendum tells what is gone.
        acked = replace(acked, reason=f"{acked.reason}, though {event.missing_artifacts[:MOST_REFUSED]}")
    return taken(found, acked, now)


def hear_last_words(before: Fleet, found: Step, event: TurnEnded, now: Moment) -> Step:
    """An answer of the successor's may end in its ack, where no command can be run (a dialog, a sandbox)."""
    if event.sub or "HANDOFF-ACK" not in event.text:
        return found
    agent = found.fleet.roster.living(event.agent, event.incarnation)
    seat = found.fleet.seats.get(agent.spec.seat) if agent is not None and agent.spec.seat else None
    handoff = seat.handoff if seat is not None else None
    if agent is None or handoff is None or handoff.step is not states.Step.AWAIT_ACK or handoff.acked:
        return found
    said = verdict.in_last_words(event.text)
    if said is None or agent.spec.generation != handoff.successor:
        return found
    claimed = replace(handoff, claim=Claim(*said))
    return taken(found, Move(claimed, "its last words acknowledge: looking at the package", ("check",)), now)


def hear_check(before: Fleet, found: Step, event: PackageChecked, now: Moment) -> Step:
    """The disk was asked of a package that last words or a file acknowledge: they are judged as `handoff ack` is."""
    seat = before.seats.get(event.agent)
    handoff = seat.handoff if seat is not None else None
    if handoff is None or handoff.id != event.handoff or handoff.step is not states.Step.AWAIT_ACK:
        return found
    claim, successor = handoff.claim, generation_name(handoff.seat, handoff.successor)
    if claim is None or claim.checked or claim.package != event.package:
        return found
    found = _kept(found, replace(handoff, claim=None))
    said = HandoffAcked(
        successor, claim.package, claim.word, claim.facts, successor, event.changed, event.missing,
        event.missing_artifacts,
    )  # fmt: skip
    answered = acknowledge(found.fleet, found, said, now)
    told, why = replace(answered, refusal=None), answered.refusal
    after, new = told.fleet.seats[handoff.seat].handoff, found.fleet.agents.get(successor)
    is_written_again = after is not None and after.attempt != handoff.attempt
    # Where hooks tell of its turns, its successor is told of a newer package once that stands there and it rests.
    is_told = claim.by_file and why is not None and new is not None and not (is_written_again and new.hooks_seen)
    if after is not None and is_written_again:
        after = replace(after, claim=replace(claim, checked=True))
        told = _kept(told, after)
    return ack_file.refused(told, after, why.message, now) if is_told and after is not None and why else told


def hear_work(
    before: Fleet, found: Step, event: PapersUpdated | PapersFailed | PackageWritten | PackageFailed, now: Moment
) -> Step:
    """Work on the project's files is done, or failed."""
    seat = before.seats.get(event.agent)
    handoff = seat.handoff if seat is not None else None
    if handoff is None or handoff.id != event.handoff:
        return found
    old = orders.old_of(found, handoff)
    if isinstance(event, PapersUpdated | PapersFailed) and event.tokens:
        handoff = replace(handoff, tokens=handoff.tokens + event.tokens)
        found = _spent(_kept(found, handoff), handoff, event.tokens, now)
    match event:
        case PapersUpdated(note=note) if handoff.step is states.Step.UPDATE:
            return taken(found, work.updated(handoff, now, note), now)
        case PapersFailed(why=why, final=final, remedy=remedy) if handoff.step is states.Step.UPDATE:
            return taken(found, work.work_failed(replace(handoff, remedy=remedy), why, old, now, final=final), now)
        case PackageWritten() if handoff.step in (states.Step.SNAPSHOT, states.Step.AWAIT_ACK):
            return taken(found, work.written(handoff, event, now), now)
        case PackageFailed(why=why, final=final) if handoff.step is states.Step.SNAPSHOT:
            return taken(found, work.work_failed(handoff, why, old, now, final=final), now)
        case PackageFailed(why=why, final=final) if handoff.step is states.Step.AWAIT_ACK:
            return taken(found, work.not_written_again(handoff, why, now, final=final), now)
        case _:
            return found


def hear_text(before: Fleet, found: Step, event: Delivered | NotDelivered, now: Moment) -> Step:
    """The word to finish, or a text that was kept over the handoff, arrived or did not arrive."""
    agent = before.agents.get(event.agent)
    seat = found.fleet.seats.get(agent.spec.seat) if agent is not None and agent.spec.seat else None
    handoff = seat.handoff if seat is not None else None
    if seat is not None and handoff is not None and handoff.posted is not None:
        if (handoff.posted.message_id, *_run_of(handoff)) == (event.message_id, event.agent, event.incarnation):
            return letters.arrived(found, seat, event, now)
    if handoff is None or handoff.said != "sending" or event.message_id != freezing.message_id(handoff):
        return found
    said: Said = "sent" if isinstance(event, Delivered) else "unsaid"
    return taken(found, Move(replace(handoff, said=said), f"the word to finish: {said}"), now)


def hear_order(before: Fleet, found: Step, event: StopRequested | AgentWithdrawn, now: Moment) -> Step:
    """A seat that is stopped or removed stays so: its handoff is given up, and starts nothing more (promise 3).

    Of one that is rolled back already nobody is told either: the operator who gave the order wants none.
    """
    agent = before.agents.get(event.agent)
    seat = found.fleet.seats.get(agent.spec.seat) if agent is not None and agent.spec.seat else None
    handoff = seat.handoff if seat is not None else None
    if handoff is None or found.refusal is not None:
        return found
    what = "removed by the operator" if isinstance(event, AgentWithdrawn) else f"stopped by {event.by}"
    if handoff.is_before_fence:
        return taken(found, move.back(handoff, what, now, stays=True), now)
    if handoff.step is states.Step.ROLLBACK and not handoff.stays:
        return taken(found, move.kept_back(handoff, what, stays=True), now)
    return found


def begin_anew(before: Fleet, found: Step, event: EpochBegun, now: Moment) -> Step:
    """Another daemon: work on files that was under way died with the one before, and is ordered again."""
    for name in tuple(found.fleet.seats):
        found = letters.put_back(found, found.fleet.seats[name], "a daemon began: whether it arrived is not known", now)
        handoff = found.fleet.seats[name].handoff
        if handoff is not None and handoff.step is states.Step.FREEZE and handoff.said == "sending":
            # Nobody will tell any more whether it arrived. If it did, a turn is open, and is waited for.
            unsure = replace(handoff, said="unsaid")
            found = taken(found, Move(unsure, "a daemon began: whether it was told to finish is not known"), now)
        if handoff is not None and handoff.step is states.Step.AWAIT_ACK and handoff.claim is not None:
            again: move.Order = "write" if handoff.claim.checked else "check"
            found = taken(found, Move(handoff, "a daemon began: ordered again", (again,)), now)
        if handoff is None or handoff.step not in (states.Step.UPDATE, states.Step.SNAPSHOT):
            continue
        later = replace(handoff, deadline=now.at + WORK_LIMIT)
        order: move.Order = "update" if handoff.step is states.Step.UPDATE else "write"
        found = taken(found, Move(later, "a daemon began: ordered again", (order,)), now)
    return found


def _no_seat(fleet: Fleet, name: str) -> Refusal:
    if finding.meant(fleet, name) is not None:
        return Refusal("not_found", f"{name} is no orchestrator with a seat", "phoenixctl status")
    if finding.is_gone(fleet, name):
        return Refusal("not_found", finding.why_gone(name), f"phoenixctl events {name} --all")
    return Refusal("not_found", f"there is no agent {name}", "phoenixctl status")


def _why_not(found: Step, seat: Seat) -> Refusal | None:
    handoff, holder = seat.handoff, found.fleet.agents[seat.holder]
    if handoff is not None and not handoff.is_over:
        message = f"handoff {handoff.id} of {seat.name} goes on: it is at {handoff.step.value}"
        return Refusal("conflict", message, f"phoenixctl handoff status {seat.name}")
    if (over := finding.left_over(found.fleet, seat)) is not None:
        return refusal_of_left_over(seat, over)
    if orders_of_others(found, seat):
        return Refusal("conflict", f"a generation of {seat.name} is still going", f"phoenixctl status {seat.name}")
    if (stranger := name_taken(found, seat)) is not None:
        message = f"the next generation of {seat.name} would be called {stranger}, and another agent is"
        return Refusal("conflict", message, f"phoenixctl remove {stranger}")
    if not isinstance(holder.state, Running):
        message = f"{seat.name} is {holder.state_words}, and only one that runs is handed over"
        return Refusal("conflict", message, f"phoenixctl start {seat.name} --wait")
    return None


def _spent(found: Step, handoff: Handoff, tokens: int, now: Moment) -> Step:
    """Keep what a model took for this handoff, with the samples of contexts and apart from them."""
    holder = found.fleet.agents.get(found.fleet.seats[handoff.seat].holder)
    if holder is None:
        return found
    sample = UsageSample(holder.name, holder.incarnation, handoff.id, tokens, None, WORDING, now.wall)
    why = f"handoff {handoff.id}: wording its papers took {tokens:,} tokens"
    return put(found, Decision(holder, reason=why, weight="detail", sample=sample), now)


def _run_of(handoff: Handoff) -> tuple[str, int]:
    return handoff.posted_to, handoff.posted_run


def _kept(found: Step, handoff: Handoff) -> Step:
    seat = found.fleet.seats[handoff.seat]
    seats = {**found.fleet.seats, seat.name: replace(seat, handoff=handoff)}
    return replace(found, fleet=replace(found.fleet, seats=seats))
