"""What a verb for several agents tells: how many, then each of them on lines of its own."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.pages.layout import SET_IN, Page, clean, name_column, pad, page, wrap


def dry(verb: str, found: Sequence[tuple[str, str]], here: Page, able: int | None = None) -> str:
    """Whom a verb would act on, with what each is at now. able: how many of them it can act on; None for all."""
    width = name_column([name for name, _ in found], here, 1)
    lines = [f"{SET_IN}{pad(name, width)}  {clean(state)}" for name, state in found]
    return page([f"{verb} would act on {counted(len(found) if able is None else able)}; nothing was done.", *lines])


def done(verb: str, results: Sequence[tuple[str, bool, str, str]], here: Page, took_back: Sequence[str] = ()) -> str:
    """What became of each: name, whether it went well, what is told of it, the remedy. took_back: lines of undo.

    What has a remedy is a refusal, which may quote an agent's call: that is shown as it is.
    """
    failed = [one for one in results if not one[1]]
    first = f"{verb}: {len(results) - len(failed)} of {counted(len(results))} as asked"
    if failed:
        first += f", {len(failed)} not"
    lines = [f"{first}.", *took_back]
    # What did not go well stands first: of a hundred lines the eye reads those.
    for _, is_well, message, remedy in sorted(results, key=lambda one: one[1]):
        sign = " " if is_well else here.sign("!")
        head, *rest = wrap(message if remedy else here.reaching(message), max(20, here.width - 2), SET_IN) or [""]
        lines += [f"{sign} {head}", *(f"  {line}" for line in rest)]
        if remedy:
            lines.append(here.reaching(f"    do: {' '.join(remedy.split())}"))
    return page(lines)


def counted(number: int) -> str:
    return "1 agent" if number == 1 else f"{number} agents"
