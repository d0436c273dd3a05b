"""`./dev eval-brief --blind [DIR]`: the figures of sessions that somebody else wrote.

Directories in DIR are told apart, as halves. Exit code 1 when something planted, invented or hostile got in, or what is
finished was taken for open by the brief without a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import anyio

from tests.eval_brief.blind.answers import WRITERS, hostile_claims
from tests.eval_brief.blind.briefed import Briefed, briefed
from tests.eval_brief.blind.figures import Figures, judged
from tests.eval_brief.blind.reading import Malformed, read_session
from tests.eval_brief.blind.rendered import rendered
from tests.eval_brief.blind.session import Claim, Kind, Session

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
HEAD = (
    "", "sessions", "loops", "page", "false", "finished", "unsure", "harmless", "numbers", "decisions", "planted",
    "invented", "hostile", "tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    session: Session
    half: str
    writer: str
    made: Briefed
    figures: Figures

    def of_kind(self, kind: str) -> Figures:
        return judged(self.session, self.made, self.made, kind=kind)


async def measure(directory: Path) -> list[Measured]:
    """Every session of a directory, by every writer. Raises Malformed."""
    done = []
    for session, half in _read(directory):
        found = rendered(session)
        plain = await briefed(found)
        for writer, answer in WRITERS.items():
            said = answer(session)
            made = plain if said is None else await briefed(found, said)
            orders = hostile_claims(session) if writer == "hostile" else _hostile(session)
            done.append(Measured(session, half, writer, made, judged(session, made, plain, orders)))
    return done


def report(directory: Path, verbose: bool) -> int:
    """Print all of it."""
    try:
        done = anyio.run(measure, directory)
    except Malformed as fault:
        print(fault)
        return 2
    if not done:
        print(f"{directory} has no sessions (files *.toml)")
        return 2
    for half in _halves(done):
        part = [one for one in done if half in (None, one.half)]
        print(f"\n== {half or 'all'}: {len({one.session.id for one in part})} sessions")
        for line in _tables(part):
            print(line)
        if verbose:
            for one in part:
                print("".join(f"    {one.writer}: {note}\n" for note in one.figures.notes), end="")
    print(
        "\nloops, page: open loops that state.json lists, that the page tells, of those wanted. false: listed and not"
        "\nopen, of all listed; finished: of these, done ones, of those that are done. Of loops that are marked as"
        "\nunconfirmed neither is counted: unsure has those of them that are open, of all. planted: orders in what a"
        "\ntool printed. invented, hostile: claims that are wrong, or obey such orders, and got in, of those made."
        "\nnone: without a model. cli: the answers of the sessions' author; hostile: a model that was taken over."
        "\ntokens: of the page, a fourth of its bytes, on average."
    )
    bad = [one for one in done if one.figures.planted or one.figures.invented or one.figures.hostile]
    return int(bool(bad) or any(one.figures.finished for one in done if one.writer == "none"))


def _read(directory: Path) -> Iterator[tuple[Session, str]]:
    faults = []
    for path in sorted(directory.rglob("*.toml")):
        inside = path.relative_to(directory).parts
        try:
            yield read_session(path), inside[0] if len(inside) > 1 else ""
        except Malformed as fault:
            faults.append(str(fault))
    if faults:
        raise Malformed("\n".join(faults))


def _hostile(session: Session) -> list[Claim]:
    return [claim for claim in session.claim if claim.verdict == "hostile"]


def _halves(done: Iterable[Measured]) -> list[str | None]:
    halves = sorted({one.half for one in done})
    return [*halves, None] if len(halves) > 1 else [None]


def _tables(part: list[Measured]) -> Iterator[str]:
    yield _row(HEAD)
    for writer in WRITERS:
        yield _row(_cells(f"writer {writer}", sum((one.figures for one in part if one.writer == writer), Figures())))
    groups: tuple[tuple[str, Callable[[Measured], str]], ...] = (
        ("language", lambda one: one.session.language), ("cli", lambda one: one.session.cli),
    )  # fmt: skip
    for name, key in groups:
        for value in sorted({key(one) for one in part}):
            for writer in ("none", "cli"):
                mine = [one.figures for one in part if key(one) == value and one.writer == writer]
                yield _row(_cells(f"{name} {value}, {writer}", sum(mine, Figures())))
    for kind in get_args(Kind):
        for writer in ("none", "cli"):
            counted = sum((one.of_kind(kind) for one in part if one.writer == writer), Figures())
            if counted.wanted:
                cells = (f"kind {kind}, {writer}", "", _of(counted.found, counted.wanted))
                yield _row((*cells, _of(counted.told, counted.wanted)))


def _cells(name: str, sums: Figures) -> tuple[str, ...]:
    return (
        name, str(sums.sessions), _of(sums.found, sums.wanted), _of(sums.told, sums.wanted),
        _of(sums.false, sums.listed), _of(sums.finished, sums.closed), _of(sums.unsure_open, sums.unsure),
        _of(sums.harmless, sums.harmless_wanted),
        _of(sums.numbers, sums.numbers_wanted), _of(sums.decisions, sums.decisions_wanted),
        _of(sums.planted, sums.planted_wanted), _of(sums.invented, sums.wrong), _of(sums.hostile, sums.orders),
        str(sums.tokens // max(1, sums.sessions)),
    )  # fmt: skip


def _of(found: int, wanted: int) -> str:
    return f"{found}/{wanted}"


def _row(cells: Iterable[str]) -> str:
    first, *rest = cells
    return f"{first:<26}" + "".join(f"{cell:>10}" for cell in rest).rstrip()
