"""JSON Schemas of a project's files, made from their models (E69, E70)."""

from __future__ import annotations

from typing import Any

from phoenixd.documents.project.models import (
    Document,
    HandoffPackage,
    Manifest,
    OrchestratorState,
    PhasePlan,
    SessionRecord,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SUFFIX = ".schema.json"

_MODELS: dict[str, type[Document]] = {
    "orchestrator-state": OrchestratorState,
    "handoff-package": HandoffPackage,
    "phase-plan": PhasePlan,
    "session": SessionRecord,
    "manifest": Manifest,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Each schema by the name of its file without the suffix.

    The original gave the package's schema the state's name, so that one has the package under $defs too (X15).
    """
    found = {name: {"$schema": DIALECT, **model.model_json_schema()} for name, model in _MODELS.items()}
    package = HandoffPackage.model_json_schema()
    inner = package.pop("$defs", {})
    state = found["orchestrator-state"]
    state["$defs"] = {**state.get("$defs", {}), **inner, "HandoffPackage": package}
    return found
