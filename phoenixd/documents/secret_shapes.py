"""How secrets look, by the marks that their makers put on them: the shapes that scanners of repositories know.

The shapes are tried by their first letter, and quantifiers are possessive or bounded, so that no text makes it slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WORD, _HEX = r"[A-Za-z0-9]", r"[a-fA-F0-9]"
_LOOSE = r"[A-Za-z0-9_-]"
_WIDE = r"[A-Za-z0-9_=.-]"

WRAPPED = r"(?:\n(?=[^\n]{0,200}[A-Z])(?=[^\n]{0,200}[a-z])(?=[^\n]{0,200}[0-9])[A-Za-z0-9_.+/=~-]{40,}+(?=\n|$))*"
"""How a token goes on that a terminal broke into lines; names of files and rulers have no letters of both sizes."""

MARKED: Mapping[str, str] = {
    # Models and what they run on.
    "sk-ant-": rf"{_LOOSE}{{16,}}+",
    "pplx-": rf"{_WORD}{{40,}}+",
    "hf_": rf"{_WORD}{{20,}}+",
    "api_org_": rf"{_WORD}{{20,}}+",
    "gsk_": rf"{_WORD}{{20,}}+",
    "xai-": rf"{_WORD}{{40,}}+",
    "r8_": rf"{_WORD}{{20,}}+",
    # Code and packages.
    "ghp_": rf"{_WORD}{{20,}}+",
    "gho_": rf"{_WORD}{{20,}}+",
    "ghu_": rf"{_WORD}{{20,}}+",
    "ghs_": rf"{_WORD}{{20,}}+",
    "ghr_": rf"{_WORD}{{20,}}+",
    "github_pat_": r"[A-Za-z0-9_]{20,}+",
    **dict.fromkeys(
        ("glpat-", "gldt-", "glft-", "glffct-", "glimt-", "glagent-", "gloas-", "glptt-", "glrt-", "glsoat-", "glcbt-"),
        r"[A-Za-z0-9_.-]{16,}+",
    ),
    "GR1348941": rf"{_LOOSE}{{20,}}+",
    "_gitlab_session=": rf"{_WORD}{{32,}}+",
    "ATATT3": rf"{_WIDE}{{60,}}+",
    "ATCTT3": rf"{_WIDE}{{60,}}+",
    "ATBB": rf"{_WORD}{{28,}}+",
    "npm_": rf"{_WORD}{{30,}}+",
    "pypi-": rf"{_LOOSE}{{30,}}+",
    "rubygems_": rf"{_HEX}{{40,}}+",
    "CLOJARS_": rf"{_WORD}{{40,}}+",
    "dckr_pat_": rf"{_LOOSE}{{20,}}+",
    "dckr_oat_": rf"{_LOOSE}{{20,}}+",
    "AKCp": rf"{_WORD}{{60,}}+",
    "cmVmd": rf"{_WORD}{{50,}}+",
    "sgp_": r"[A-Za-z0-9_]{40,}+",
    "sntrys_": r"[A-Za-z0-9+/=_]{40,}+",
    "sntryu_": rf"{_HEX}{{40,}}+",
    "squ_": rf"{_HEX}{{32,}}+",
    "sqp_": rf"{_HEX}{{32,}}+",
    "sqa_": rf"{_HEX}{{32,}}+",
    "API-": r"[A-Z0-9]{26}(?![A-Za-z0-9])",
    # Clouds and hosts.
    **dict.fromkeys(("AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "A3T": r"[A-Z0-9]{17}(?![A-Za-z0-9])",
    "ABSK": r"[A-Za-z0-9+/]{100,}+={0,2}",
    "bedrock-api-key-": r"[A-Za-z0-9+/=]{20,}+",
    "AIza": rf"{_LOOSE}{{30,}}+",
    "ya29.": rf"{_LOOSE}{{20,}}+",
    "GOCSPX-": rf"{_LOOSE}{{20,}}+",
    "LTAI": rf"{_WORD}{{20,}}+",
    "v1.0-": rf"{_HEX}{{24}}-{_HEX}{{100,}}+",
    "doo_v1_": rf"{_HEX}{{40,}}+",
    "dop_v1_": rf"{_HEX}{{40,}}+",
    "dor_v1_": rf"{_HEX}{{40,}}+",
    "HRKU-": rf"{_LOOSE}{{40,}}+",
    "fo1_": rf"{_LOOSE}{{40,}}+",
    "fm1a_": r"[A-Za-z0-9+/=]{60,}+",
    "fm1r_": r"[A-Za-z0-9+/=]{60,}+",
    "fm2_": r"[A-Za-z0-9+/=]{60,}+",
    "tk-us-": rf"{_LOOSE}{{40,}}+",
    "sha256~": rf"{_LOOSE}{{40,}}+",
    "dapi": rf"{_HEX}{{32,}}+(?:-\d)?",
    "4b1d": rf"{_WORD}{{38}}(?![A-Za-z0-9])",
    "pscale_": rf"(?:tkn|oauth|pw)_{_WIDE}{{30,}}+",
    "pul-": rf"{_HEX}{{40,}}+",
    "pnu_": rf"{_WORD}{{30,}}+",
    "ico-": rf"{_WORD}{{32,}}+",
    "hvs.": rf"{_LOOSE}{{20,}}+",
    "hvb.": rf"{_LOOSE}{{20,}}+",
    "hvr.": rf"{_LOOSE}{{20,}}+",
    "dp.": rf"(?:pt|st|ct|sa|scim|audit)\.{_WIDE}{{38,}}+",
    "t1.": r"[A-Za-z0-9_-]{8,400}={0,2}\.[A-Za-z0-9_-]{80,}+",
    "AQVN": rf"{_LOOSE}{{35,}}+",
    "YC": rf"{_LOOSE}{{38}}(?![A-Za-z0-9_-])",
    # People's vaults and keys.
    "A3-": r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    "ops_eyJ": r"[A-Za-z0-9+/=_-]{100,}+",
    "AGE-SECRET-KEY-1": r"[A-Z0-9]{30,}+",
    "LS0tLS1CRUdJTi": r"[A-Za-z0-9+/=]{20,}+",
    "eyJ": rf"{_LOOSE}{{16,}}+(?:\.[A-Za-z0-9_-]*+)*{WRAPPED}",
    "ZXlK": r"[A-Za-z0-9+/_-]{40,}+={0,2}",
    # Talk and mail.
    **dict.fromkeys((f"xox{kind}-" for kind in "abceoprs"), r"[A-Za-z0-9-]{10,}+"),
    "xoxe.xox": r"[bp]-[A-Za-z0-9-]{10,}+",
    "xapp-": r"[A-Za-z0-9-]{10,}+",
    "hooks.slack.com/": r"(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}+",
    "webhook.office.com/webhookb2/": r"[A-Za-z0-9@/-]{20,}+",
    "discord.com/api/webhooks/": r"[0-9]{10,25}/[A-Za-z0-9_-]{30,}+",
    "SG.": rf"{_WIDE}{{30,}}+",
    "xkeysib-": rf"{_LOOSE}{{40,}}+",
    "pubkey-": rf"{_HEX}{{32}}(?![A-Za-z0-9])",
    "key-": rf"{_HEX}{{32}}(?![A-Za-z0-9])",
    "SK": rf"{_HEX}{{32}}(?![A-Za-z0-9])",
    "NRAK-": rf"{_WORD}{{20,}}+",
    "NRJS-": rf"{_HEX}{{16,}}+",
    "NRII-": rf"{_LOOSE}{{20,}}+",
    "tfp_": rf"{_WIDE}{{40,}}+",
    # Money and shops.
    **dict.fromkeys(
        (f"{kind}_{stage}_" for kind in ("sk", "rk") for stage in ("live", "test", "prod")), rf"{_WORD}{{10,}}+"
    ),
    "whsec_": r"[A-Za-z0-9+/=]{20,}+",
    "sq0": rf"[a-z]{{3}}-{_LOOSE}{{20,}}+",
    "EAAA": rf"{_LOOSE}{{40,}}+",
    "EAAM": rf"{_WORD}{{80,}}+",
    "EAAC": rf"{_WORD}{{80,}}+",
    **dict.fromkeys(("shpat_", "shpca_", "shppa_", "shpss_"), rf"{_HEX}{{32,}}+"),
    "shippo_": rf"(?:live|test)_{_HEX}{{32,}}+",
    "FLWSECK": rf"(?:_TEST)?-{_LOOSE}{{12,}}+",
    "FLWPUBK": rf"(?:_TEST)?-{_LOOSE}{{12,}}+",
    "EZAK": rf"{_WORD}{{50,}}+",
    "EZTK": rf"{_WORD}{{50,}}+",
    "duffel_": rf"(?:test|live)_{_WIDE}{{38,}}+",
    # Other services.
    "p8e-": rf"{_WORD}{{32}}(?![A-Za-z0-9])",
    "pat": rf"(?:{_WORD}{{14}}\.{_HEX}{{64}}|\.[A-Za-z0-9_-]{{22}}\.{_WORD}{{24}}\.{_WORD}{{20}})",
    "sat.": rf"[A-Za-z0-9_-]{{22}}\.{_WORD}{{24}}\.{_WORD}{{20}}",
    **dict.fromkeys(
        ("sc_", "ext_", "scauth_", "authress_"),
        rf"{_WORD}{{5,30}}\.{_WORD}{{4,6}}\.acc[_-][A-Za-z0-9-]{{10,32}}\.[A-Za-z0-9+/_=-]{{30,}}+",
    ),
    "dnkey-": rf"{_WIDE}{{40,}}+",
    "dt0c01.": rf"{_WORD}{{24}}\.{_WORD}{{40,}}+",
    "sl.": rf"{_WIDE}{{100,}}+",
    "fio-u-": rf"{_WIDE}{{50,}}+",
    "glc_": r"[A-Za-z0-9+/]{32,}+={0,3}",
    "glsa_": rf"{_WORD}{{32}}_{_HEX}{{8}}",
    "s-s4t2": rf"(?:ud|af)-{_HEX}{{40,}}+",
    "lin_api_": rf"{_WORD}{{30,}}+",
    "lin_oauth_": rf"{_WORD}{{30,}}+",
    "pk.": rf"{_WORD}{{60}}\.{_WORD}{{22}}",
    "ntn_": rf"{_WORD}{{40,}}+",
    "secret_": rf"{_WORD}{{43}}(?![A-Za-z0-9])",
    "PMAK-": rf"{_HEX}{{24}}-{_HEX}{{30,}}+",
    "rdme_": rf"{_WORD}{{50,}}+",
    "sm_": rf"(?:aat|pat|sat)_{_WORD}{{16,}}+",
    "sk-": rf"(?=[A-Za-z_-]{{0,80}}[0-9]){_LOOSE}{{20,}}+",
    "s.": rf"(?=[A-Za-z]{{0,23}}[0-9]){_WORD}{{24}}(?![A-Za-z0-9_.(-])",
}
"""What a secret begins with, and how it goes on. Where one mark begins another, the longer one stands first."""

_ALONE = frozenset({"eyJ", "LS0tLS1CRUdJTi", "hooks.slack.com/", "webhook.office.com/webhookb2/", "_gitlab_session="})
"""Marks that count also where they stand within a word."""

_WITHIN: Mapping[str, str] = {
    "Q~": r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}",
    ".atlasv1.": r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}+",
    "_mmk": r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
    ":A": r"(?:(?<![A-Za-z0-9])|(?<=/bot))[0-9]{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])",
    "|": r"(?<![A-Za-z0-9])[0-9]{15,16}\|[A-Za-z0-9_-]{27,40}",
}
"""Marks that stand in the middle, with the whole shape."""

VENDORS = tuple(
    """
    adafruit adobe airtable algolia alibaba asana atlassian confluence jira beamer bitbucket bittrex meraki cloudflare
    codecov cohere coinbase confluent contentful datadog discord droneci dropbox etsy facebook fastly finicity finnhub
    flickr freshbooks gitter gocardless heroku hubspot intercom jfrog artifactory bintray xray kraken kucoin
    launchdarkly linear linkedin linked-in linked_in lob_ looker mailchimp mailgun mapbox mattermost messagebird
    message-bird message_bird netlify newrelic new-relic new_relic nytimes okta plaid privateai private-ai private_ai
    rapidapi sendbird sentry snyk sonar squarespace sumo telegr travis twitch twitter typeform yandex zendesk
    contribsys fastspring openai anthropic
    """.split()
)
"""Whose keys bear no mark: what is assigned to a name with one of these words in it, and looks random, is one."""


def alternatives(words: Iterable[str]) -> str:
    """A pattern for one of these words, by their first letters, so that few are tried at any place."""
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())


def without_marked(text: str, mark: str) -> str:
    """The text with `mark` in the place of everything that has a secret's shape."""
    text = _SHAPES.sub(mark, text)
    for within, shape in _INNER.items():
        if within in text:
            text = shape.sub(mark, text)
    return text


def _shapes() -> str:
    by_letter: dict[str, tuple[list[str], list[str]]] = {}
    for begin, rest in MARKED.items():
        apart, alone = by_letter.setdefault(begin[0], ([], []))
        (alone if begin in _ALONE else apart).append(re.escape(begin[1:]) + rest)
    branches = []
    for letter, (apart, alone) in by_letter.items():
        shapes = [rf"(?<![A-Za-z0-9]{re.escape(letter)})(?:{'|'.join(apart)})"] if apart else []
        branches.append(f"{re.escape(letter)}(?:{'|'.join([*alone, *shapes])})")
    return "|".join(branches)


_SHAPES = re.compile(_shapes())
_INNER = {within: re.compile(shape) for within, shape in _WITHIN.items()}
