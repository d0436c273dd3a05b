"""Sessions of events in any order that the form allows."""

from __future__ import annotations

import random

from tests.eval_brief.blind.session import (
    Agent,
    Cli,
    Committed,
    Compacted,
    EndedJob,
    Event,
    Git,
    Permission,
    Person,
    Plan,
    Question,
    Queued,
    Read,
    Run,
    Session,
    Task,
    Tasks,
    TurnEnds,
    Wakeup,
    Web,
    Write,
)


def random_session(cli: Cli, seed: int) -> Session:
    """Events in any order that the form allows."""
    chance = random.Random(f"{cli}-{seed}")
    jobs: list[str] = []
    events: list[Event] = [Person(0, "begin")]
    for second in range(1, 25):
        kind = chance.choice(EVENTS[cli])
        if kind is EndedJob and not jobs:
            kind = Agent
        job = f"j{second}"
        events.append(
            {
                Person: lambda at: Person(at, f"prompt {at}"),
                Agent: lambda at: Agent(at, f"words {at}"),
                Run: lambda at: Run(at, "make x", chance.choice((0, 2)), chance.choice(("", "out\n"))),
                Jobs: lambda at: Run(at, "make serve", None, "", background=True, job=f"j{at}"),
                EndedJob: lambda at: EndedJob(at, jobs[0], chance.choice((0, 1)), "out"),
                Write: lambda at: Write(at, chance.choice(("a.py", "b.py")), chance.random() < 0.2),
                Read: lambda at: Read(at, "a.py", "text"),
                Web: lambda at: Web(at, "https://example.org", "text"),
                Tasks: lambda at: Tasks(at, tuple(
                    Task(name, f"task {name}{at % 2}", chance.choice(("pending", "in_progress", "completed")))
                    for name in chance.sample("abcd", 3))),
                Plan: lambda at: Plan(at, "1. a\n2. b", chance.random() < 0.5),
                Question: lambda at: Question(at, "which?", ("a", "b"), "a"),
                Permission: lambda at: Permission(at, "make x", chance.choice(("allow", "deny"))),
                Queued: lambda at: Queued(at, f"queued {at}", chance.random() < 0.5),
                Wakeup: lambda at: Wakeup(at, "look", chance.random() < 0.5),
                Committed: lambda at: Committed(at, "fix: it's done", ("a.py",)),
                TurnEnds: lambda at: TurnEnds(at, True),
                Compacted: lambda at: Compacted(at, True),
            }[kind](second)
        )  # fmt: skip
        if kind is Jobs:
            jobs.append(job)
    return Session(f"xx-{cli}-{seed:02}", cli, "en", "", "killed", tuple(events), git=Git("main"))


class Jobs:
    """Stands for a run in the background, where kinds of events are drawn."""


EVENTS: dict[Cli, tuple[type, ...]] = {
    "codex": (Person, Agent, Run, Jobs, EndedJob, Write, Read, Web, Tasks, Question, Permission, Queued, Committed,
              TurnEnds, Compacted),
}  # fmt: skip
EVENTS |= {"gemini": EVENTS["codex"], "claude": (*EVENTS["codex"], Plan, Wakeup)}
