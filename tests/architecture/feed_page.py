"""docs/reference/feed.md, drawn from the schemas of the stream's events by `-m tests.architecture.feed_page`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phoenixd.api import examples
from phoenixd.api.feed.following import MOST_NOTES, RETRY
from phoenixd.api.feed.ledger import MOST_GONE
from phoenixd.api.handlers.streams import BEAT
from phoenixd.api.openapi import STREAMED
from phoenixd.api.places import STREAMS
from phoenixd.api.row import AGES, VOLATILE
from phoenixd.api.schemas import SCHEMAS

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/feed.md"
WHEN = {
    "hello": ("none", "first; `whole` true: what you know is void, and all that is there follows"),
    "agent": ("a row's, none where only volatile keys changed", "an agent is new, or its row differs; the whole row"),
    "gone": ("a row's", "an agent was removed, or the selector no longer takes it"),
    "item": ("a row's", "something waits for a person, or is told otherwise"),
    "item-closed": (
        "a row's",
        "it waits no more; `by` is null where no order of a person's ended it. It comes again where it is known later "
        "whose answer counted, and an `item` of its number may follow where its dialog is drawn late",
    ),
    "alert": ("a row's", "an alert stands or is told otherwise; `over` true: it is over"),
    "note": ("its own row's", "a row of the story was written, each once and in order"),
    "beat": ("the newest row's", f"every {BEAT:g} s: the stream lives, and you know all up to its `as_of`"),
    "resync": ("none", "before `hello`: what came after your id cannot be told, and `why`"),
}
HEAD = """\
# The feed

Drawn from the schemas of the API. Everything that a face shows comes by one stream of server-sent events, over the
control socket like all else (`http://phoenixd` stands for it below):

```
curl -N --unix-socket RUNTIME_DIR/api.sock -H 'Accept: text/event-stream' 'http://phoenixd/v1/stream?select=shop-*'
```

`select` takes what [verbs take](../how-to/many-at-once.md); without it all agents are told, and the fleet's own alerts.
Without the `Accept` the same path answers once, with all that is there. `GET /v1/agents?after=CURSOR` is for a face
that asks now and then: it answers with what changed since the `cursor` of an earlier answer, `?after=` with all.

## A client

- Keep agents by `name`, items and alerts by `id`. `agent`, `item` and `alert` put a thing in place of the one you had;
  `gone`, `item-closed` and an alert with `over` take it away. `hello` with `whole` empties all three.
- Keep the id of the last frame that had one. Come back with it as `Last-Event-ID`, also to another daemon: you are told
  what you lack, each thing once, as it is now, and each `note` that you have not got. A browser does so after
  {retry} ms.
- `boot` in `hello` names a life of the daemon. In another one whole rows come again, since volatile keys have no row.
- Ids are rows of the journal. A frame with an id is sent after everything of an older row: nothing is lost between two.
- More than {notes} rows of the story missed, an id of another journal, or rows that are not kept any more: `resync`,
  then all. Of things that are gone the newest {gone} are remembered; who missed more gets all again.
- A `beat` comes every {beat} s. None for 10 s: show that what you have is old.
- {streams} followers at once; one more is refused (503).

Volatile keys change without a row of the journal: {volatile}. What grows old by itself is no change: {ages}.

## Frames

| event | id | when |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    events = STREAMED["follow_feed"]
    head = HEAD.format(
        retry=RETRY, notes=MOST_NOTES, gone=MOST_GONE, beat=f"{BEAT:g}", streams=STREAMS, volatile=_named(VOLATILE),
        ages=_named(AGES),
    )  # fmt: skip
    table = "".join(f"| `{event}` | {WHEN[event][0]} | {WHEN[event][1]} |\n" for event in events)
    parts = "".join(_frame(event, schema) for event, schema in events.items())
    return f"{head}{table}{parts}\n## As it comes\n\n```\n{examples.frames(_short(events)).rstrip()}\n```\n"


def _frame(event: str, name: str) -> str:
    """The keys of one frame's data, each with what it holds."""
    rows = "".join(f"| `{key}` | {_kind(schema)} |\n" for key, schema in _keys(SCHEMAS[name]).items())
    return f"\n### `{event}`\n\nSchema `{name}`.\n\n| key | holds |\n|---|---|\n{rows}"


def _keys(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _keys(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    parts = (_keys(part) for part in schema.get("allOf", ()))
    return {**schema.get("properties", {}), **{key: one for part in parts for key, one in part.items()}}


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_kind(one) for one in schema[choice]))
    if "enum" in schema:
        return ", ".join(f"`{one}`" if one is not None else "null" for one in schema["enum"])
    types = schema.get("type", "object")
    kinds = [types] if isinstance(types, str) else types
    told = [f"list of {_kind(schema['items'])}" if one == "array" and schema.get("items") else one for one in kinds]
    return " or ".join("time" if one == "string" and schema.get("format") == "date-time" else one for one in told)


def _short(events: dict[str, str]) -> dict[str, str]:
    """Those whose data fits on a page."""
    return {event: schema for event, schema in events.items() if event not in ("agent", "item", "note")}


def _named(keys: frozenset[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
