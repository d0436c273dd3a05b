"""The clinic without a daemon: a failed run of a pydantic-ai agent is diagnosed, treated and run again.

It needs the extra `clinic`. `recoverable_run` goes around `agent.run`; the words are those of documents/clinic.py.
"""

try:
    from phoenixd.clinic.agent import ClinicAgent
    from phoenixd.clinic.configuration import ClinicConfig
    from phoenixd.clinic.failures import AnswerCut
    from phoenixd.clinic.recovery import recoverable_run
    from phoenixd.clinic.rules import is_retryable
    from phoenixd.clinic.summarizer import Summarizer
    from phoenixd.clinic.waiting import Pauses
    from phoenixd.documents.clinic import Case, Diagnosis, Prescription, ToolCall, TraumaContext
except ImportError as error:
    if not (error.name or "").startswith("pydantic_ai"):
        raise
    raise ImportError(
        "phoenixd.clinic needs pydantic-ai 2.60 or newer, and it is not installed: "
        "pip install '.[clinic]' in a checkout of phoenixd",
        name=error.name,
    ) from None

__all__ = [
    "AnswerCut",
    "Case",
    "ClinicAgent",
    "ClinicConfig",
    "Diagnosis",
    "Pauses",
    "Prescription",
    "Summarizer",
    "ToolCall",
    "TraumaContext",
    "is_retryable",
    "recoverable_run",
]
