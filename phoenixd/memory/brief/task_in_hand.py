"""What an agent was told to do last: by the hooks, and by its transcript where no hook told (design section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core import cut, prompts
from phoenixd.core.agent import Agent
from phoenixd.core.limits.parking import CONTINUE
from phoenixd.core.question import leftover
from phoenixd.core.waiting import MAX_TEXT
from phoenixd.documents.banner import GOES_ON, TITLE
from phoenixd.documents.ledger_rows import digest
from phoenixd.documents.ledger_words import CUT
from phoenixd.documents.session_facts import SessionFacts

POINTER = "The goal that you were given stands in "
"""How a run is told a goal that is too long to be an argument."""


@dataclass(slots=True)
class TaskInHand:
    """Follows one agent's prompts; memory only, for the transcript and the fleet's state outlive it."""

    _heard: str | None = None
    _heard_wall: float | None = None
    _told: str | None = None
    _begun: bool = False

    @property
    def heard_at(self) -> float | None:
        """When a hook told the newest prompt (wall); None for one of before."""
        return self._heard_wall

    def words(self, agent: Agent, session: SessionFacts | None, now: float) -> str | None:
        """The newest prompt of a person or of `send`, else the operator's goal; None where nothing new is known."""
        if not self._begun:
            self._begun, self._heard = True, agent.last_prompt
        elif agent.last_prompt != self._heard:
            self._heard, self._heard_wall, self._told = agent.last_prompt, now, None
        prompt = session.prompt if session is not None else None
        if prompt is not None and not is_ours(agent, prompt.text) and self._is_later(prompt.at):
            self._told = prompt.text
        if self._told is not None:
            return self._told
        if agent.last_prompt is not None:
            return agent.last_prompt
        # A run that was told to go on goes on with what it had: the task that is on record stays.
        went_on = prompt is not None and is_ours(agent, prompt.text) and not _is_goal(agent, prompt.text)
        return None if went_on else agent.spec.prompt

    def _is_later(self, at: float | None) -> bool:
        """Whether a prompt in the transcript is later than the one that a hook told; the transcript may lag behind."""
        return self._heard_wall is None or (at is not None and at > self._heard_wall)


def is_ours(agent: Agent, prompt: str) -> bool:
    """Whether a prompt is one with which the daemon starts runs or has them go on."""
    words = prompt.strip()
    ours = (agent.spec.resume.prompt or "").strip()
    # What ended with the run before, and what it had asked, stands behind it.
    continues = words == ours or (ours != "" and words.startswith(f"{ours} "))
    begins = (*GOES_ON, POINTER, leftover.ASKED, TITLE)
    goes_on = continues or words in CONTINUE.values() or prompts.is_ours(words)
    return _is_goal(agent, words) or goes_on or words.startswith(begins)


def going_on(agent: Agent, prompt: str) -> str:
    """By which words a prompt of the daemon's own has a session go on; empty for a goal, for news and for a check.

    The goal stands before them in a fresh session, and may be there in part.
    """
    words = prompt.strip()
    if not is_ours(agent, words):
        words = words[words.find(CUT) + len(CUT) :] if CUT in words else ""
    elif words == (agent.spec.prompt or "").strip():
        return ""
    while words:
        if _goes_on(agent, words):
            return words
        words = words.partition("\n\n")[2].lstrip()
    return ""


def _goes_on(agent: Agent, words: str) -> bool:
    ours = (agent.spec.resume.prompt or "").strip()
    continues = ours != "" and (words == ours or words.startswith(f"{ours} "))
    return continues or words in CONTINUE.values() or cut.is_ours(words) or words.startswith((*GOES_ON, TITLE))


def goal_digests(agent: Agent) -> frozenset[str]:
    """What the goal is known by where no long prompt is kept whole."""
    goal = agent.spec.prompt or ""
    return frozenset(map(digest, {goal, goal.strip()})) if goal.strip() else frozenset()


def _is_goal(agent: Agent, prompt: str) -> bool:
    goal, words = (agent.spec.prompt or "").strip(), prompt.strip()
    # Hooks and transcripts hand on the beginning of a long one alone.
    is_cut = len(prompt) >= MAX_TEXT and goal.startswith(words)
    return goal != "" and (words == goal or words.startswith(f"{goal}\n\n") or is_cut)
