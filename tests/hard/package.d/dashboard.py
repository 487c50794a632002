#!/usr/bin/env python3
"""Checks a dashboard against Grafana's own schema: the types of the Foundation SDK must keep every field.

Usage: dashboard.py DASHBOARD.json      (needs grafana-foundation-sdk of PyPI)
"""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard, prometheus


def differences(given, kept, place="dashboard"):
    """The fields that the schema does not know, or knows with another value."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            if key not in kept:
                yield f"{place}: unknown field {key}"
            else:
                yield from differences(value, kept[key], f"{place}.{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for at, (one, other) in enumerate(zip(given, kept)):
            yield from differences(one, other, f"{place}[{at}]")
    elif given != kept:
        yield f"{place}: {given!r} became {kept!r}"


def main():
    register_default_plugins()
    with open(sys.argv[1], encoding="utf-8") as file:
        given = json.load(file)
    board = dashboard.Dashboard.from_json(given)
    wrong = list(differences(given, json.loads(JSONEncoder().encode(board))))
    # The check must be able to fail: Grafana has no such field.
    given["panels"][0]["gridPosition"] = {}
    canary = dashboard.Dashboard.from_json(given)
    assert list(differences(given, json.loads(JSONEncoder().encode(canary)))), "nothing is checked"
    targets = [target for panel in board.panels for target in panel.targets]
    assert all(isinstance(target, prometheus.Dataquery) for target in targets), "a target of another kind"
    print(f"{len(board.panels)} panels with {len(targets)} queries; {len(wrong)} fields are wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
