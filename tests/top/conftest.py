"""Tests of top share with those of phoenixctl that nothing is named before they begin."""

from __future__ import annotations

from tests.ctl.conftest import nothing_named as nothing_named
