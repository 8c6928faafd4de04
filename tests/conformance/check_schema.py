#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds every scenario against schema.json, and schema.json against the runner's own check.

The schema is what the runners of other languages and editors go by, so it must accept all that the runner for C runs
and refuse what it refuses: the malformed scenarios of the self-test, as far as a schema can see their fault.
usage: check_schema.py SCHEMA MALFORMED SCENARIO_FILE... Prints TAP. Needs the Python package jsonschema.
"""
import json
import sys

import jsonschema

# Faults between two places of a file, which a schema cannot express.
BEYOND_A_SCHEMA = {"a_tag_that_claims_too_much", "the name is taken"}


def main(schema_file, malformed_file, *scenario_files):
    with open(schema_file, encoding="utf-8") as text:
        schema = json.load(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    outcomes = []
    for name in scenario_files:
        with open(name, encoding="utf-8") as text:
            causes = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(json.load(text))]
        outcomes.append((f"the schema accepts {name.rsplit('/', 1)[-1]}", causes))
    with open(malformed_file, encoding="utf-8") as text:
        malformed = json.load(text)
    for scenario in malformed["scenarios"]:
        because = scenario.pop("must_fail")["because"]
        if {scenario["name"], because} & BEYOND_A_SCHEMA:
            continue
        refused = not validator.is_valid({**malformed, "scenarios": [scenario]})
        outcomes.append((f"the schema refuses {scenario['name']}", [] if refused else ["it was accepted"]))
    for number, (title, causes) in enumerate(outcomes, 1):
        print(f"{'not ok' if causes else 'ok'} {number} - {title}")
        for cause in causes:
            print("#", cause)
    print(f"1..{len(outcomes)}")
    return any(causes for _, causes in outcomes)


sys.exit(main(*sys.argv[1:]))
