"""What each case says, in facts of the core; written before it was played.

Where the file as a whole was refused, nothing is declared; where only its words changed, the same is declared again. An
account that no key names is made of the login (config.specifications), so that another login is another account.
"""

from __future__ import annotations

from phoenixd.core.rules import LivenessRules, RestartRules, ResumeRules
from phoenixd.core.spec import Kind
from tests.core.corrections.playing import (
    Given,
    bill,
    breaker_open,
    closed_by_hand,
    crashes,
    left,
    limit,
    login,
    memory,
    no_directory,
    not_found,
    nothing_achieved,
    stopped,
    stopped_in_quarantine,
)
from tests.core.story import claude, spec

WRONG, RIGHT = ("/opt/tools/agnet", "--serve"), ("/opt/tools/agent", "--serve")

OPEN: dict[str, Given] = {
    "COR-01": Given(not_found, spec(argv=WRONG), {"argv": RIGHT}),
    "COR-03": Given(crashes(2), claude(labels=("team:docs",)), {"labels": ("team:docs", "owner:ines")}),
    "COR-04": Given(not_found, spec(argv=("claude",)), {"env": (("PATH", "/home/u/node/bin:/usr/bin:/bin"),)}),
    "COR-06": Given(no_directory, spec(env=(("LOG", "info"),)), {"env": (("LOG", "debug"),)}),
    "COR-08": Given(crashes(0.6), claude(argv=("claude", "--modle", "opus"))),
    "COR-09": Given(crashes(0.3), spec(argv=("./bot",)), {}),
    "COR-11": Given(crashes(120), spec(), {"restart": RestartRules(max_crashes=20)}),
    "COR-14": Given(login, claude()),
    "COR-16": Given(stopped, claude(argv=("claude", "--model", "sonnet")), {"argv": ("claude", "--model", "opus")}),
    "COR-18": Given(not_found, spec(argv=WRONG), {"argv": RIGHT}, while_down=True),
    "COR-21": Given(crashes(1), while_down=True),
    "COR-23": Given(limit, claude(account="key-a"), {"account": "key-b", "env": (("ANTHROPIC_API_KEY", "b"),)}),
}

HELD: dict[str, Given] = {
    "COR-02": Given(not_found, spec(argv=("myagent",)), {}),
    "COR-05": Given(no_directory, claude(cwd="/srv/shopp"), {"cwd": "/srv/shop"}),
    "COR-07": Given(crashes(0.9), spec(kind=Kind.LOOP), {"env": (("DATABASE_URL", "postgres://localhost/mail"),)}),
    "COR-10": Given(crashes(180), claude(prompt="Refactor everything."), {"prompt": "Refactor src/ only."}),
    "COR-12": Given(nothing_achieved, claude(), {"liveness": LivenessRules(stale=3600)}),
    "COR-13": Given(
        login,
        claude(account="key-a", env=(("ANTHROPIC_API_KEY", "a"),)),
        {"account": "key-b", "env": (("ANTHROPIC_API_KEY", "b"),)},
    ),
    "COR-15": Given(bill, claude(prompt="Reconcile the ledger."), {"prompt": "Reconcile the ledger, be brief."}),
    "COR-17": Given(stopped_in_quarantine, spec(cwd="/data/etl"), {"cwd": "/srv/etl"}, while_down=True),
    "COR-19": Given(breaker_open, claude(kind=Kind.LOOP), act=closed_by_hand),
    "COR-20": Given(memory, claude()),
    "COR-22": Given(crashes(1), spec(resume_args=("{session_id}",)), {"resume": ResumeRules(enabled=False)}),
    "COR-24": Given(left, claude(prompt="Summarise the week."), {"prompt": "Summarise the month."}),
}
