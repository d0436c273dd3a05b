"""What stands on pydantic-ai with the oldest that the extra allows, and with the newest: `./dev proof clinic`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def extra() -> str:
    """What the extra asks of pydantic-ai-slim, such as >=2.60,<3."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (asked,) = table["project"]["optional-dependencies"]["clinic"]
    found = re.fullmatch(r"pydantic-ai-slim\[[\w,]+\](>=[\d.]+,<\d+)", asked)
    assert found is not None, asked
    return found[1]


def installed(target: Path, wanted: str) -> None:
    """Put one package beside the virtualenv; skips where the registry cannot be reached."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"not run: pip install {wanted}: {done.stderr.strip().splitlines()[-1:]}")


@pytest.mark.proof
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("bound", ["lowest", "newest"])
def test_the_whole_suite_of_the_library_holds_at_both_bounds(bound: str, tmp_path: Path) -> None:
    lowest = extra().removeprefix(">=").split(",")[0]
    installed(tmp_path, f"pydantic-ai-slim=={lowest}" if bound == "lowest" else f"pydantic-ai-slim{extra()}")
    (release,) = tmp_path.glob("pydantic_ai_slim-*.dist-info")
    version = release.name.removeprefix("pydantic_ai_slim-").removesuffix(".dist-info")
    installed(tmp_path, f"pydantic-graph=={version}")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "EXPECTED_PYDANTIC_AI": version}

    words = ["-q", "-p", "no:cacheprovider", "-m", "not proof", "tests/clinic", "tests/resonance/test_wrapper.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )

    print(f"pydantic-ai {version}: {ran.stdout.strip().splitlines()[-1]}")
    assert ran.returncode == 0, ran.stdout[-5000:]


def test_the_release_that_was_asked_for_is_the_one_that_is_tested() -> None:
    import pydantic_ai

    assert pydantic_ai.__version__ == os.environ.get("EXPECTED_PYDANTIC_AI", pydantic_ai.__version__)


def test_the_sentence_about_a_missing_package_names_the_lowest_release() -> None:
    text = (ROOT / "phoenixd" / "clinic" / "__init__.py").read_text(encoding="utf-8")

    assert f"pydantic-ai {extra().removeprefix('>=').split(',')[0]} or newer" in text
