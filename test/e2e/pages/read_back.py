"""Reads pages and exports of a running system with independent readers, and prints what they understood as JSON.

Usage: read_back.py PAGE_URL API_URL [SHAPES.ttl]
"""

import json
import sys
import tempfile
import urllib.request
from pathlib import Path

import extruct
import pyshacl
import signposting
from commonmeta import Metadata
from datacite import schema45
from frictionless import Package

page, api, *shapes = sys.argv[1:]


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url) as response:
        return response.read()


def export(name: str) -> bytes:
    return fetch(f"{api}/export/{name}")


def commonmeta(name: str, via: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export"
        file.write_bytes(export(name))
        found = Metadata(str(file), via=via)
        return {"title": found.title, "isValid": found.is_valid}


links = signposting.find_signposting_http(page)
understood = {
    "signposting": {
        "citeAs": str(links.citeAs.target) if links.citeAs else None,
        "describedBy": len(links.describedBy),
        "items": len(links.items),
        "linksets": len(links.linksets),
    },
    "jsonLd": extruct.extract(fetch(page).decode(), base_url=page, syntaxes=["json-ld"])["json-ld"],
    "datacite": commonmeta("datacite-json", "datacite"),
    "bibtex": commonmeta("bibtex", "bibtex"),
    "csl": commonmeta("csl", "csl"),
    "ris": commonmeta("ris", "ris"),
    "dataciteErrors": [
        error.message for error in schema45.validator.iter_errors(json.loads(export("datacite-json")))
    ],
}
data_package = json.loads(export("datapackage"))
understood["dataPackage"] = {
    "title": Package(data_package).title,
    "errors": [error.message for error in Package.metadata_validate(data_package)],
    "resources": len(Package(data_package).resources),
}
if shapes:
    conforms, _, report = pyshacl.validate(
        export("dcat-ap"), data_graph_format="turtle", shacl_graph=shapes[0], shacl_graph_format="turtle"
    )
    understood["dcatAp"] = "" if conforms else report
print(json.dumps(understood))
