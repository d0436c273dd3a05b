"""What decisions are told of a CLI: once, by its harness, before the first of them."""

from __future__ import annotations

import pytest

from phoenixd.core import traits
from phoenixd.core.spec import AgentSpec
from phoenixd.core.traits import UNKNOWN, Traits, learn, traits_of


def test_traits_are_told_once() -> None:
    with pytest.raises(ValueError, match="known already"):
        learn("codex", Traits(has_hooks=False))


def test_an_older_journal_may_name_a_cli_that_nobody_knows_any_more() -> None:
    assert traits_of("gone") == UNKNOWN
    assert AgentSpec("a", ("gone",), "/", harness="gone").has_hooks


def test_a_decision_before_any_harness_is_known_is_no_wrong_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traits, "_known", {})

    with pytest.raises(LookupError, match=r"import phoenixd\.harness before the first decision"):
        AgentSpec("a", ("x",), "/").has_hooks  # noqa: B018
