"""The brief of an agent: shown, judged, and written anew."""

from __future__ import annotations

from phoenixd.api import exits
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.pages import briefs as text_briefs
from phoenixd.api.problems import Problem
from phoenixd.api.times import ago, rfc3339
from phoenixd.api.values import BriefPage


async def brief_show(ask: Ask) -> Reply:
    ask.agent()
    page = await ask.service.brief(ask.name)
    if page is None:
        raise Problem("not_found", f"{ask.name} has no brief that can be read", f"phoenixctl brief generate {ask.name}")
    age = _age(ask, page)
    return Reply(_body(ask, page, f"written {ago(age)} ago"), lambda here: text_briefs.brief(page.text, page.writing))


async def brief_check(ask: Ask) -> Reply:
    ask.agent()
    faults, page = await ask.service.check_brief(ask.name), await ask.service.brief(ask.name)
    # What was repaired on reading is worth telling, and nothing to worry about.
    sound = all(fault.kind == "odd" for fault in faults)
    age = _age(ask, page) if page is not None else None
    body = {
        "name": ask.name,
        "sound": sound,
        "written_at": rfc3339(page.written) if page is not None else None,
        "age": age,
        "faults": [
            {"document": fault.document, "kind": fault.kind, "field": fault.field, "problem": fault.problem}
            for fault in faults
        ],
    }
    code = exits.OK if sound else exits.CONDITION
    return Reply(body, lambda here: text_briefs.verdict(ask.name, faults, age, here, sound=sound), code)


async def brief_generate(ask: Ask) -> Reply:
    ask.agent()
    page = await ask.service.generate_brief(ask.name)
    message = f"the brief of {ask.name} is written: {page.path}"
    return Reply(_body(ask, page, message), said(f"{message}. See: phoenixctl brief show {ask.name}"))


def _body(ask: Ask, page: BriefPage, message: str) -> dict[str, object]:
    writing = page.writing
    return {
        "name": ask.name,
        "path": page.path,
        "writer": writing.writer if writing is not None else None,
        "writer_note": writing.note if writing is not None else "",
        "tokens": writing.tokens if writing is not None else 0,
        "tokens_today": writing.tokens_today if writing is not None else 0,
        "text": page.text,
        "written_at": rfc3339(page.written),
        "age": _age(ask, page),
        "message": message,
    }


def _age(ask: Ask, page: BriefPage) -> float:
    return round(max(0.0, ask.service.now().wall - page.written), 3)
