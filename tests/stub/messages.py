"""A stand-in for the Anthropic Messages API. By hand: python -m tests.stub.messages --port 0 --scenario FILE."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from tests.stub import wire
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Rejection, Step, Usage
from tests.stub.server import ApiStub, Reply, main


class Messages:
    """The Messages API."""

    request = RecordedRequest

    def whole(self, request: RecordedRequest, step: Step, usage: Usage) -> bytes:
        return json.dumps(wire.message_of(request, step, usage)).encode()

    def events(self, request: RecordedRequest, step: Step, usage: Usage) -> Iterable[bytes]:
        return wire.events_of(wire.message_of(request, step, usage), step.fault)

    def streams(self, request: RecordedRequest) -> bool:
        return bool(request.body.get("stream"))

    def error(self, rejection: Rejection) -> tuple[dict[str, str], bytes]:
        wait = rejection.retry_after
        return {} if wait is None else {"retry-after": f"{wait:g}"}, wire.error_body(rejection)

    def late(self, rejection: Rejection) -> bytes:
        return b"event: error\ndata: " + wire.error_body(rejection) + b"\n\n"

    def aside(self, request: RecordedRequest) -> Reply:
        if request.method == "GET":
            return 404, {}, wire.error_body(Rejection(404, "not_found_error", "the stub serves messages only"))
        if request.path.split("?")[0] == "/v1/messages/count_tokens":
            return 200, {}, json.dumps({"input_tokens": wire.estimated_tokens(request)}).encode()
        return 200, {}, b"{}"


class MessagesStub(ApiStub):
    dialect = Messages()


if __name__ == "__main__":
    sys.exit(main(MessagesStub))
