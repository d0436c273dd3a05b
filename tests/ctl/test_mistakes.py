"""Typical mistakes at phoenixctl: each ends with its exit code, its cause, and what to type, which is typed here.

One daemon answers all of them, and none of them changes anything.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from phoenixd.api import exits
from phoenixd.ctl.__main__ import main
from phoenixd.ctl.command_line import PASSED_ON
from phoenixd.ctl.declare import declaration
from phoenixd.ctl.grammar import parse
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.architecture.remedies import END
from tests.ctl.conftest import ROOT

# fmt: off
MISTAKES: tuple[tuple[str, int, str], ...] = (
    ("down --agent", 2, "phoenixctl down: there is no option --agent; did you mean --agents?"),
    ("attach Docs", 4, "there can be no agent 'Docs'"),
    ("statsu", 2, "phoenixctl: there is no verb 'statsu'; did you mean status?"),
    ("stauts", 2, "phoenixctl: there is no verb 'stauts'; did you mean status?"),
    ("stat", 2, "phoenixctl: there is no verb 'stat'; did you mean status?"),
    ("satus docs", 2, "phoenixctl: there is no verb 'satus'; did you mean status?"),
    ("list", 2, "phoenixctl: there is no verb 'list'; did you mean status?"),
    ("agents", 2, "phoenixctl: there is no verb 'agents'; did you mean status?"),
    ("alerts", 2, "phoenixctl: there is no verb 'alerts'; did you mean inbox?"),
    ("docs status", 2, "phoenixctl: there is no verb 'docs'; the verb stands first"),
    ("docs stop", 2, "phoenixctl: there is no verb 'docs'; the verb stands first"),
    ("answer dcos yes", 4, "there is no agent dcos; did you mean docs?"),
    ("ls", 2, "phoenixctl: there is no verb 'ls'; did you mean status?"),
    ("ps", 2, "phoenixctl: there is no verb 'ps'; did you mean status?"),
    ("kill docs", 2, "phoenixctl: there is no verb 'kill'; did you mean stop?"),
    ("logs", 2, "phoenixctl logs: NAME is missing"),
    ("attach", 2, "phoenixctl attach: NAME is missing"),
    ("quit", 2, "phoenixctl: there is no verb 'quit'; did you mean down?"),
    ("exit", 2, "phoenixctl: there is no verb 'exit'; did you mean down?"),
    ("halp", 2, "phoenixctl: there is no verb 'halp'; did you mean help?"),
    ("help statsu", 2, "there is no verb 'statsu'; did you mean status?"),
    ("help phase lst", 2, "there is no verb 'phase lst'; did you mean phase list?"),
    ("status docs2", 4, "there is no agent docs2; did you mean docs?"),
    ("status Docs", 4, "there is no agent Docs; did you mean docs?"),
    ("status DOCS", 4, "there is no agent DOCS; did you mean docs?"),
    ("status shop", 4, "there is no agent shop; did you mean shop-api?"),
    ("status shop_api", 4, "there is no agent shop_api; did you mean shop-api?"),
    ("status 'x-*'", 4, "x-*: nothing matches; 7 agents are there"),
    ("status p:shpo", 4, "p:shpo: nothing matches; 7 agents are there"),
    ("status s:idel", 2, "s: cannot be idel; did you mean idle? it is one of: stopped, starting, run"),
    ("status state:idle", 2, "a selector has no key state:; the keys are: s:, h:, k:, p:, l:, needs:"),
    ("status needs:me", 2, "needs: cannot be me; it is one of: you"),
    ("status '!'", 2, "! names nothing"),
    ("status '!nobody'", 4, "!nobody leaves nobody out: no agent is called so"),
    ("status '*' '!shp-*'", 4, "!shp-* leaves nobody out: no agent is called so; did you mean shop-api?"),
    ("status docs --al", 2, "phoenixctl status: there is no option --al; did you mean --all?"),
    ("status --jsn", 2, "phoenixctl status: there is no option --jsn; did you mean --json?"),
    ("status --all docs2", 4, "there is no agent docs2; did you mean docs?"),
    ("stop", 2, "phoenixctl stop: NAME is missing"),
    ("stop nobody", 4, "there is no agent nobody"),
    ("stop doc", 4, "there is no agent doc; did you mean docs?"),
    ("stop all", 4, "there is no agent all"),
    ("stop '*' '!shp-*' --yes", 4, "!shp-* leaves nobody out: no agent is called so; did you mean shop-api?"),
    ("stop '*' '!docs,nobody' --yes", 4, "!nobody leaves nobody out: no agent is called so"),
    ("stop 'shop-*'", 2, "stop means 2 agents: shop-api, shop-web; nothing was done"),
    ("stop 'shop-*' --now", 2, "phoenixctl stop: there is no option --now"),
    ("stop docs --timeout soon", 2, "timeout \"soon\" is no duration; write seconds, or text like \"500ms\", \"15m\","),
    ("stop docs --timeout 8d", 2, "timeout is not between 0 and 7 days"),
    ("stop docs --timeout -1", 2, "timeout \"-1\" is no duration; write seconds, or text like \"500ms\", \"15m\","),
    ("stop docs idel", 4, "there is no agent idel; did you mean idle?"),
    ("stop p:web", 4, "p:web: nothing matches; 7 agents are there"),
    ("stop k:residnt", 2, "k: cannot be residnt; did you mean resident? it is one of: resident, loop,"),
    ("stop h:cluade", 4, "h:cluade: nothing matches; 7 agents are there"),
    ("stop l:prod", 4, "l:prod: nothing matches; 7 agents are there"),
    ("stop ''", 2, "phoenixctl stop: an empty word stands where an agent is named; all of them are '*'"),
    ("stop ' '", 2, "phoenixctl stop: an empty word stands where an agent is named; all of them are '*'"),
    ("stop docs ''", 2, "phoenixctl stop: an empty word stands where an agent is named; all of them are '*'"),
    ("restart '' --yes", 2, "phoenixctl restart: an empty word stands where an agent is named; all of them are"),
    ("status ''", 2, "phoenixctl status: an empty word stands where an agent is named; all of them are '*'"),
    ("log ''", 2, "phoenixctl log: an empty word stands where an agent is named; all of them are '*'"),
    ("undo '' --yes", 2, "phoenixctl undo: an empty word stands where an agent is named; all of them are '*'"),
    ("events ''", 2, "phoenixctl events: an empty word stands where an agent is named; all of them are '*'"),
    ("inbox ''", 2, "phoenixctl inbox: an empty word stands where a number or a name is named"),
    ("explain ''", 2, "phoenixctl explain: an empty word stands where an agent is named"),
    ("answer '' allow", 2, "phoenixctl answer: an empty word stands where a number or a name is named"),
    ("stop docs --force", 2, "phoenixctl stop: there is no option --force"),
    ("stop docs -f", 2, "phoenixctl stop: there is no option -f"),
    ("start", 2, "phoenixctl start: NAME is missing: the agent; or selectors, such as 'shop-*'"),
    ("start nobody", 4, "there is no agent nobody"),
    ("start docs --fresh", 6, "docs is running already"),
    ("start docs --frsh", 2, "phoenixctl start: there is no option --frsh; did you mean --fresh?"),
    ("start 'x*'", 4, "x*: nothing matches; 7 agents are there"),
    ("start idle --wait=yes", 2, "phoenixctl start: --wait takes no value, and 'yes' is one"),
    ("restart", 2, "phoenixctl restart: NAME is missing"),
    ("restart nobody", 4, "there is no agent nobody"),
    ("restart docs --fresh --wit", 2, "phoenixctl restart: there is no option --wit; did you mean --wait?"),
    ("restart asks --timeout x", 2, "timeout \"x\" is no duration; write seconds, or text like \"500ms\", \"15m\","),
    ("remove", 2, "phoenixctl remove: NAME is missing"),
    ("remove nobody", 4, "there is no agent nobody"),
    ("remove docs shop-ap", 4, "there is no agent shop-ap; did you mean shop-api?"),
    ("remove '*' --dry", 2, "phoenixctl remove: there is no option --dry; did you mean --dry-run?"),
    ("add", 2, "phoenixctl add: NAME is missing"),
    ("add docs -- true", 6, "there is an agent docs already"),
    ("add No! -- true", 2, "name cannot be 'No!': it is 1 to 32 of a-z"),
    ("add new", 2, "say what it runs"),
    ("add new true", 2, "phoenixctl add: 'true' stands where no argument can; the command to run go"),
    ("add new --", 2, "say what it runs"),
    ("add new --kind forever -- true", 2, "phoenixctl add: --kind cannot be 'forever'; it is one of: resident, loop,"),
    ("add new --harness cluade -- true", 2, "phoenixctl add: --harness cannot be 'cluade'; did you mean claude? it "),
    ("add new -- /", 2, "/ is a directory, and no command; where an agent works is said by --cwd"),
    ("run new -d -- /", 2, "/ is a directory, and no command; where an agent works is said by --cwd"),
    ("add new --env X -- true", 2, "--env X sets nothing"),
    ("add new --env =x -- true", 2, "--env =x sets nothing"),
    ("add aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -- true", 2, "it is 1 to 32 of a-z"),
    ("add new --cwd", 2, "phoenixctl add: --cwd stands without its value"),
    ("run", 2, "say what to run"),
    ("run claude", 2, "say what to run"),
    ("logs docs --tail 5", 2, "phoenixctl logs: there is no option --tail; did you mean --lines?"),
    ("stop all", 4, "there is no agent all; all agents are chosen by a quoted '*'"),
    ("init", 2, "phoenixctl: there is no verb 'init'"),
    ("run docs claude", 2, "phoenixctl run: 'claude' stands where no argument can; the command to run"),
    ("run new claude", 2, "phoenixctl run: 'claude' stands where no argument can; the command to run"),
    ("run sleep 5", 2, "phoenixctl run: '5' stands where no argument can; the command to run goes last"),
    ("add new -- ''", 2, "an empty word is no command"),
    ("run new -d -- ''", 2, "an empty word is no command"),
    ("run docs -- true", 6, "there is an agent docs already"),
    ("run --", 2, "say what to run"),
    ("send docs ''", 2, "there is nothing to send"),
    ("send nobody hello", 4, "there is no agent nobody"),
    ("send idle hello", 6, "idle is stopped: nobody would read it"),
    ("send asks yes", 6, "asks asks: permission (Bash); Enter would answer that"),
    ("send docs --key", 2, "phoenixctl send: --key stands without its value"),
    ("send docs hello world", 2, "phoenixctl send: 'world' is one word too many; a text of several words is"),
    ("send 'shop-*' hello", 2, "send means 2 agents: shop-api, shop-web; nothing was done"),
    ("send docs hello --wait", 2, "phoenixctl send: there is no option --wait"),
    ("send docs hello --timeout soon", 2, "timeout \"soon\" is no duration; write seconds, or text like \"500ms\""),
    ("answer nobody yes", 4, "there is no agent nobody"),
    ("answer 99 yes", 4, "nothing waits under #99: that number was never given"),
    ("answer '#99' yes", 4, "nothing waits under #99: that number was never given"),
    ("inbox 99", 4, "nothing waits under #99: that number was never given"),
    ("inbox '#98' '#99'", 4, "nothing waits under #98: that number was never given"),
    ("answer allow", 4, "the number is missing, which stands before the answer: phoenixctl answer NUMBER allow"),
    ("answer deny 'it breaks things'", 4, "the number is missing, which stands before the answer"),
    ("answer approve", 4, "the number is missing, which stands before the answer"),
    ("answer docs yes", 4, "nothing of docs waits for a person"),
    ("answer asks", 6, "#1 cannot be answered from here"),
    ("answer asks maybe", 6, "#1 can be answered at its terminal alone: its CLI takes no answer from h"),
    ("wait docs --for lunch", 2, "phoenixctl wait: --for cannot be 'lunch'; it is one of: idle, waiting, sto"),
    ("wait docs --for idel", 2, "phoenixctl wait: --for cannot be 'idel'; did you mean idle? it is one of:"),
    ("wait nobody --for idle", 4, "there is no agent nobody"),
    ("wait docs --for stopped --timeout 0", 8, "not stopped in time: docs is running"),
    ("wait idle --for idle", 6, "idle is stopped, and does not become idle before it is started"),
    ("wait idle --for running --timeout 7d", 6, "idle is stopped, and does not become running before it is started"),
    ("log -g '('", 2, "'(' is no regular expression: missing ), unterminated subpattern at positi"),
    ("log nobody", 4, "there is no agent nobody"),
    ("log --since never", 2, "'never' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or 2026"),
    ("log -n 0", 2, "lines is less than 1"),
    ("log -n many", 2, "phoenixctl log: --lines is a number, and cannot be 'many'"),
    ("log -n 100000", 2, "lines is more than 10000"),
    ("log 'x-*'", 4, "x-*: nothing matches; 7 agents are there"),
    ("log '!shp-*'", 4, "!shp-* leaves nobody out: no agent is called so; did you mean shop-api?"),
    ("events -n 99999999999999999999", 2, "lines is more than 10000"),
    ("screen docs -n -99999999999999999999", 2, "lines is less than 1"),
    ("screen nobody", 4, "there is no agent nobody"),
    ("screen docs -n 0", 2, "lines is less than 1"),
    ("events --since never", 2, "'never' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("events --since 25:00", 2, "'25:00' is no time of day"),
    ("events -n x", 2, "phoenixctl events: --lines is a number, and cannot be 'x'"),
    ("since never", 2, "'never' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("since '8 h'", 2, "'8 h' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("looked foo", 2, "'foo' is neither the number of an event nor the cursor of an answer"),
    ("stop docs --wait 5s", 2, "phoenixctl stop: --wait takes no value; how long is said by --timeout"),
    ("restart idle --wait 5 m", 2, "phoenixctl restart: --wait takes no value; how long is said by --timeout"),
    ("wait docs --for running --timeout abc", 2, "--timeout \"abc\" is no duration"),
    ("since 99", 2, "'99' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("explain docs shop-api", 2, "phoenixctl explain: 'shop-api' is one word too many; it takes "),
    ("mute docs 2h", 2, "2h is a length of time, and stands behind --for"),
    ("mute docs --for 5", 2, "--for 5 has no unit: s, m, h or d"),
    ("mute docs --for 5 mins", 2, "--for 5 has no unit: s, m, h or d"),
    ("mute docs --for 2 hours", 2, "--for 2 has no unit: s, m, h or d"),
    ("mute docs --for 1.5", 2, "--for 1.5 has no unit: s, m, h or d"),
    ("mute docs --for 30 days", 2, "--for 30 has no unit: s, m, h or d"),
    ("mute docs --for 99999", 2, "--for 99999 has no unit: s, m, h or d"),
    ("mute docs --for 0", 2, "--for 0 has no unit: s, m, h or d"),
    ("mute docs --for 0m", 2, "--for 0m: a mute lasts for 1 second at least, and for 7 days at most"),
    ("mute docs --for 500ms", 2, "--for 500ms: a mute lasts for 1 second at least, and for 7 days at most"),
    ("mute docs --for 8d", 2, "--for 8d: a mute lasts for 1 second at least, and for 7 days at most"),
    ("mute docs --for 5mins", 2, "--for \"5mins\" is no duration; write text like"),
    ("mute docs --for soon", 2, "--for \"soon\" is no duration; write text like"),
    ("mute docs --for ''", 2, "--for \"\" is no duration; write text like"),
    ("mute 'shop-*' --for 5 --yes", 2, "--for 5 has no unit: s, m, h or d"),
    ("undo nobody", 4, "there is no agent nobody, and none was removed within 7 days"),
    ("undo doc", 4, "there is no agent doc, and none was removed within 7 days; did you mean docs?"),
    ("screen idle", 4, "idle has no terminal: it never began"),
    ("screen idle -f", 4, "idle has no terminal: it never began"),
    ("undo", 4, "nothing is left to take back of what was stopped, removed, begun afresh or muted"),
    ("undo docs", 4, "nothing of docs is left to take back"),
    ("undo --act zz", 4, "nothing is left to take back of what was stopped, removed, begun afresh or muted"),
    ("undo --act 'A B'", 2, "act cannot be 'A B': it is 1 to 40 of a-z, 0-9 and -"),
    ("undo 'x-*'", 4, "nothing is left to take back of what was stopped, removed, begun afresh or muted"),
    ("inbox --al", 2, "phoenixctl inbox: there is no option --al"),
    ("doctor --al", 2, "phoenixctl doctor: there is no option --al; did you mean --all?"),
    ("plan docs", 2, "phoenixctl plan: 'docs' is one word too many; it takes "),
    ("apply docs", 2, "phoenixctl apply: 'docs' is one word too many; it takes "),
    ("up docs", 2, "phoenixctl up: 'docs' is one word too many; it starts phoenixd itself"),
    ("up --config /nowhere/x.toml", 2, "--config /nowhere/x.toml: there is no such file or directory"),
    ("watchdog --onec", 2, "phoenixctl watchdog: there is no option --onec; did you mean --once?"),
    ("heartbeat shw docs", 2, "phoenixctl heartbeat: there is no verb 'shw'; did you mean show?"),
    ("heartbeat simulate idle", 6, "idle is not running"),
    ("clean", 2, "phoenixctl: there is no verb 'clean'; did you mean cleanup?"),
    ("clean docs", 2, "phoenixctl: there is no verb 'clean'; did you mean cleanup?"),
    ("config chek", 2, "phoenixctl config: there is no verb 'chek'; did you mean check?"),
    ("config check --config /nowhere", 2, "--config /nowhere: there is no such file or directory"),
    ("config show nobody", 2, "phoenixctl config show: 'nobody' is one word too many; it takes "),
    ("hooks prnt", 2, "phoenixctl hooks: there is no verb 'prnt'; did you mean print?"),
    ("hooks install", 2, "say where: --user, or --project DIR"),
    ("hooks install cluade", 2, "phoenixctl hooks install: 'cluade' is one word too many; it takes "),
    ("brief show docs", 4, "docs has no brief that can be read"),
    ("resolve nothing done", 4, "no agent has an open loop 'nothing', nor any other"),
    ("resolve x ''", 2, "the reason is empty: say why the loop is closed"),
    ("handoff strat boss", 2, "phoenixctl handoff: there is no verb 'strat'; did you mean start?"),
    ("handoff start", 2, "nothing says whose handoff is meant"),
    ("handoff start docs", 6, "docs is no orchestrator with a seat, and is not handed over"),
    ("handoff status docs", 6, "docs is no orchestrator with a seat, and is not handed over"),
    ("handoff rollback boss", 6, "no handoff of boss can be rolled back: it had none"),
    ("resonance check docs", 6, "docs has no marker: resonance is off for it"),
    ("resonance restore docs", 6, "docs has no marker: resonance is off for it"),
    ("task run --prompt x", 2, "phoenixctl task run: there is no option --prompt; did you mean --project?"),
    ("task status t99", 4, "there is no task t99"),
    ("task status 99", 4, "the task: it cannot be '99'; it is t and a number, such as t3"),
    ("task cancel t99", 4, "there is no task t99"),
    ("clinic show c99", 4, "the journal keeps no Case c99"),
    ("clinic c99", 2, "phoenixctl clinic: there is no verb 'c99'"),
    ("clinic nobody", 2, "phoenixctl clinic: there is no verb 'nobody'"),
    ("phase list --project nobody", 4, "has no project nobody"),
    ("memory list --project nobody", 4, "has no project nobody"),
    ("completion tcsh", 2, "phoenixctl completion: SHELL cannot be 'tcsh'; it is one of: bash, zsh, fi"),
    ("completion basch", 2, "phoenixctl completion: SHELL cannot be 'basch'; did you mean bash? it is o"),
    ("recover --yess", 2, "phoenixctl recover: there is no option --yess; did you mean --yes?"),
    ("token", 2, "phoenixctl: there is no verb 'token'; did you mean tokens?"),
    ("tokens nobody", 2, "phoenixctl tokens: there is no verb 'nobody'"),
    ("meter nobody", 2, "phoenixctl: there is no verb 'meter'"),
    ("version x", 2, "phoenixctl version: 'x' is one word too many; it takes "),
    ("--socket", 2, "phoenixctl: --socket stands without its value"),
    ("--versoin", 2, "phoenixctl: there is no option --versoin; did you mean --version?"),
    ("-x", 2, "phoenixctl: there is no option -x"),
    ("-v", 2, "phoenixctl: there is no option -v; did you mean --version?"),
    ("-V", 2, "phoenixctl: there is no option -V; did you mean --version?"),
    ("since 3 days", 2, "phoenixctl since: a length of time is one word, such as 3d"),
    ("since -1h", 2, "phoenixctl since: there is no option -1h; a length of time is written without a sign"),
    ("events --since 8", 2, "'8' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("events docs --since 8", 2, "'8' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("events --since 3 days", 2, "'3' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("log docs --since 3 days", 2, "'3' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("log --since last", 2, "'last' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or"),
    ("log --lines ten", 2, "phoenixctl log: --lines is a number, and cannot be 'ten'"),
    ("log --lines=ten", 2, "phoenixctl log: --lines is a number, and cannot be 'ten'"),
    ("mute docs --for -1h", 2, "--for \"-1h\" is no duration; write text like"),
    ("wait docs --for running --timeout 5 minutes", 2, "phoenixctl wait: a length of time is one word"),
    ("wait docs", 2, "phoenixctl wait: --for is missing: what to wait for: idle, waiting, stopped, running"),
    ("send docs", 2, "phoenixctl send: TEXT is missing: the text, or - for standard input"),
    ("send", 2, "phoenixctl send: NAME, TEXT are missing"),
    ("clinic show", 2, "phoenixctl clinic show: ID is missing: the Case"),
    ("config check ./", 2, "phoenixctl config check: './' stands where no argument can; the configuration is named by"),
    ("attach docs idle", 2, "phoenixctl attach: 'idle' is one word too many; it takes NAME alone"),
    ("down docs", 2, "phoenixctl down: 'docs' is one word too many; it ends phoenixd itself, and no agent is named"),
    ("down now", 2, "phoenixctl down: 'now' is one word too many; it ends phoenixd itself, and no agent is named"),
    ("phase", 2, "phoenixctl phase: the word after it is missing; it is one of: list, check"),
    ("tail docs --lines 5", 2, "phoenixctl: there is no verb 'tail'; did you mean log?"),
    ("create docs2 -- true", 2, "phoenixctl: there is no verb 'create'; did you mean add?"),
    ("tail docs", 2, "phoenixctl: there is no verb 'tail'; did you mean log?"),
    ("rm docs", 2, "phoenixctl: there is no verb 'rm'; did you mean remove?"),
    ("create docs", 2, "phoenixctl: there is no verb 'create'; did you mean add?"),
    ("send docs fix the tests", 2, "phoenixctl send: 'the' is one word too many; a text of several words is qu"),
    ("answer 7 allow it please", 4, "nothing waits under #7: that number was never given"),
    ("stop --ye docs", 2, "phoenixctl stop: there is no option --ye; did you mean --yes?"),
    ("send docs hello --ky k", 2, "phoenixctl send: there is no option --ky; did you mean --key?"),
    ("clinic show 99", 4, "the Case: it cannot be '99'; it is c and a number, such as c3"),
    ("task cancel 99", 4, "the task: it cannot be '99'; it is t and a number, such as t3"),
    ("answer '!' yes", 4, "the number that inbox shows, or the agent's name where one thing of it wai"),
    ("status s:", 2, "s: names nothing: s: is its state, activity or group"),
    ("status :", 2, "a selector has no key :; the keys are: s:, h:, k:, p:, l:, needs:"),
    ("status p:", 2, "p: names nothing: p: is its project"),
    ("status needs:", 2, "needs: names nothing: needs: is you: what waits for a person"),
    ("send '*' hello --key", 2, "phoenixctl send: --key stands without its value"),
    ("undo --yess", 2, "phoenixctl undo: there is no option --yess; did you mean --yes?"),
    ("log docs -g '['", 2, "'[' is no regular expression: unterminated character set at position 0"),
    ("log docs -f --since soon", 2, "'soon' is no time; write 8h, 18:00, today, yesterday, 2026-11-20, or 2026-"),
    ("events docs -n 0", 2, "lines is less than 1"),
    ("explain Docs", 4, "there can be no agent 'Docs'"),
    ("screen Docs", 4, "there can be no agent 'Docs'"),
    ("heartbeat show Docs", 4, "there can be no agent 'Docs'"),
    ("start docs shop-ap", 4, "there is no agent shop-ap; did you mean shop-api?"),
    ("start s:stoped", 2, "s: cannot be stoped; did you mean stopped? it is one of: stopped, starting"),
    ("start 's:stopped' '!idel'", 4, "!idel leaves nobody out: no agent is called so; did you mean idle?"),
    ("remove p:shop '!shop-wbe' --yes", 4, "!shop-wbe leaves nobody out: no agent is called so; did you mean shop-w"),
    ("restart h:command '!h:comand' --yes", 4, "!h:comand leaves nobody out: no agent has this harness; did you mea"),
    ("add docs2 --kind residnt -- true", 2, "phoenixctl add: --kind cannot be 'residnt'; did you mean resident? it "),
    ("memory share x", 4, "has no project"),
    ("phase check nobody", 2, "phoenixctl phase check: 'nobody' is one word too many; it takes "),
    ("phase split nobody", 4, "has no project"),
    ("install-service --sytem", 2, "phoenixctl install-service: unrecognized arguments: --sytem"),
)
# fmt: on
STANDS_FOR = {
    "NAME": "docs",
    "TEXT": "hello",
    "'TEXT'": "hello",
    "COMMAND": "true",
    "FILE": str(ROOT / "config/phoenixd.toml"),
}
"""What a person puts in the place of these words of a remedy."""
NOT_RUN = ("attach", "run", "up")
"""Verbs that take over the terminal or start a daemon: that they are understood is all that is asked of them here, as
of what follows for ever."""
NO_COMMAND = (
    "write it as --env NAME=VALUE",
    'declare it with kind = "orchestrator"',
    "set enabled = true in [agent.docs.resonance]",
)
"""What is to be done in a file, or put into the very command that was typed."""
DONE = (exits.OK, exits.CONDITION)


def test_a_command_that_stands_for_the_name_is_run_as_it_was_typed(capsys: pytest.CaptureFixture[str]) -> None:
    """`run NAME` may be left out, so that the first word of a command is taken for it."""
    for typed, remedy in {
        "run sleep 5": "phoenixctl run sleep -- sleep 5",
        "run -d sleep 5": "phoenixctl run -d sleep -- sleep 5",
        "run docs claude": "phoenixctl run docs -- claude",
        "add sleep 5": "phoenixctl add sleep -- sleep 5",
        "run /opt/bin/worker": "phoenixctl run worker -- /opt/bin/worker",
        "run claude": "phoenixctl run claude -- claude",
        "run r1": "phoenixctl run r1 -- claude",
        "run": "phoenixctl run NAME -- claude",
        "stop --all": "phoenixctl stop '*'",
        "init": "phoenixctl help",
        "daemon": "phoenixctl help",
        "kill-server": "phoenixctl help",
        "add new sleep": "phoenixctl add new -- sleep",
    }.items():
        assert main(typed.split()) == exits.USAGE
        assert capsys.readouterr().err.splitlines()[-1] == f"do: {remedy}"


@dataclass
class Terminal:
    """phoenixctl in this process: a hundred interpreters would take minutes to start."""

    live: Live
    capture: pytest.CaptureFixture[str]

    async def type(self, words: list[str]) -> tuple[int, str, str]:
        # What begins a daemon of its own takes no socket, and reads its own arguments.
        named = [] if words[:1] and words[0] in PASSED_ON else ["--socket", str(self.live.socket)]
        code = await asyncio.to_thread(main, [*named, *words])
        said = self.capture.readouterr()
        return code, said.out, said.err


def fleet(daemon: FakeDaemon) -> None:
    for name in ("docs", "shop-api", "shop-web"):
        daemon.declare(name, project="shop" if name.startswith("shop") else None)
    daemon.declare("idle", start=False)
    daemon.declare("asks")
    daemon.wait("asks")
    daemon.declare("goes-round", kind="loop")
    daemon.declare("boss", kind="orchestrator", cwd="/srv/boss")


def command_of(remedy: str) -> list[str]:
    """The first command that a remedy names, as it is typed."""
    rest = remedy.partition("phoenixctl ")[2].splitlines()[0]
    quoted = re.findall(r"'[^']*'|\"[^\"]*\"|[^'\"]+", rest)
    typed = ""
    for part in quoted:
        end = END.search(part) if part[0] not in "'\"" else None
        typed += part[: end.start()] if end is not None else part
        if end is not None and (end.group() or part is quoted[-1]):
            break
    return [STANDS_FOR.get(word, word) for word in shlex.split(typed) if word]


def without_socket(words: list[str]) -> list[str]:
    if "--socket" not in words:
        return words
    at = words.index("--socket")
    return [*words[:at], *words[at + 2 :]]


def test_a_prompt_of_several_words_is_quoted_and_no_half_of_it_is_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(shlex.split("task run docs fix it"))
    why, remedy = capsys.readouterr().err.splitlines()
    assert "a text of several words is quoted" in why
    assert remedy == "do: phoenixctl task run 'docs fix it'"


def test_a_shell_whose_directory_was_removed_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert declaration({"name": "a", "argv": ["sleep", "1"]}) is None
    assert capsys.readouterr().err.splitlines() == [
        "the directory that this shell is in was removed", "do: phoenixctl add a --cwd DIRECTORY -- COMMAND"
    ]  # fmt: skip


async def test_typical_mistakes_are_told_by_code_and_cause_and_what_to_type_can_be_typed(
    live: Live, daemon: FakeDaemon, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    fleet(daemon)
    before, terminal = daemon.state, Terminal(live, capfd)
    wrong: list[str] = []

    for number, (typed, code, cause) in enumerate(MISTAKES):
        # What a remedy makes in a project is there for that remedy alone.
        (tmp_path / f"{number}").mkdir()
        monkeypatch.chdir(tmp_path / f"{number}")
        found, out, told = await terminal.type(shlex.split(typed))
        why, _, remedy = told.partition("\ndo: " if "\ndo: " in told else ". See: ")
        if (found, daemon.state) != (code, before) or cause not in " ".join(why.split()):
            wrong.append(f"{typed}: {found}, {told!r}")
        if out and found != exits.CONFLICT:
            wrong.append(f"{typed}: prints {out[:80]!r}, which a script would take for an answer")
        if remedy.startswith(NO_COMMAND):
            continue
        if "phoenixctl " not in remedy:
            wrong.append(f"{typed}: nothing to type in {remedy!r}")
            continue
        words = without_socket(command_of(remedy))
        if (words[0] in NOT_RUN and "--help" not in words) or "--follow" in words:
            parse(words)
            continue
        if words[0] == "resolve":
            daemon.begin("docs", "x")
        if words[0] == "handoff":
            words = ["boss" if word == "docs" else word for word in words]
        if words[-1:] == ["--wait"] and words[0] == "start":
            words.pop()
        again, _, said = await terminal.type(words)
        if again not in DONE:
            wrong.append(f"{typed}: do: {words} -> {again}, {said!r}")
        daemon.state, daemon.ended = before, False

    assert len(MISTAKES) >= 120
    assert not wrong, "\n".join(wrong)
