"""Resonance around a model of pydantic-ai: the one room of this library that knows it (the extra `clinic`)."""

try:
    from phoenixd.resonance.wrapper.model import ResonantModel
except ImportError as error:
    if not (error.name or "").startswith("pydantic_ai"):
        raise
    raise ImportError(
        "phoenixd.resonance.wrapper needs pydantic-ai 2.60 or newer, and it is not installed: "
        "pip install '.[clinic]' in a checkout of phoenixd",
        name=error.name,
    ) from None

__all__ = ["ResonantModel"]
