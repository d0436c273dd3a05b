"""The clinic without a daemon: a failed run of a pydantic-ai agent is diagnosed, treated and run again.

It needs the extra `clinic`. `recoverable_run` goes around `agent.run`; the words are those of documents/clinic.py.
"""

from importlib.util import find_spec

if find_spec("pydantic_ai") is None:
    raise ImportError("phoenixd.clinic needs pydantic-ai, which is not installed: pip install 'phoenixd[clinic]'")

from phoenixd.clinic.agent import ClinicAgent
from phoenixd.clinic.configuration import ClinicConfig
from phoenixd.clinic.failures import AnswerCut
from phoenixd.clinic.recovery import recoverable_run
from phoenixd.clinic.rules import is_retryable
from phoenixd.clinic.summarizer import Summarizer
from phoenixd.clinic.waiting import Pauses
from phoenixd.documents.clinic import Case, Diagnosis, Prescription, ToolCall, TraumaContext

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
