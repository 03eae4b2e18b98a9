"""Reads [{"file", "resource"}] from stdin and prints what the schemas of Kubernetes VERSION... reject; exits with 1 if there is anything."""

import functools
import json
import re
import sys
from importlib.resources import files

import jsonschema
import referencing

SCHEMAS = files("kubernetes_validate") / "kubernetes-json-schema"


def main() -> int:
    documents = json.load(sys.stdin)
    problems = [
        f"Kubernetes {version}: {document['file']}: {document['resource']['kind']} {document['resource']['metadata']['name']}: {error.json_path}: {error.message}"
        for version in sys.argv[1:]
        for document in documents
        for error in validator(version, document["resource"]["apiVersion"], document["resource"]["kind"]).iter_errors(
            document["resource"]
        )
    ]
    print("\n".join(problems))
    return 1 if problems else 0


@functools.cache
def validator(version: str, api_version: str, kind: str) -> jsonschema.Draft202012Validator:
    # apps/v1 is in apps-v1.json, networking.k8s.io/v1 in networking-v1.json.
    group = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", api_version)
    schema = load(version, f"{kind.lower()}-{group}.json")
    registry = referencing.Resource.from_contents(load(version, "_definitions.json")) @ referencing.Registry()
    return jsonschema.Draft202012Validator(schema, registry=referencing.Resource.from_contents(schema) @ registry)


@functools.cache
def load(version: str, name: str) -> dict:
    return json.loads((SCHEMAS / f"v{version}.0-local-strict" / name).read_text())


sys.exit(main())
