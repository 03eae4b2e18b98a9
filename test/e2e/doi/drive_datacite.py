"""Drives a DataCite server with the client `datacite` from PyPI; prints what came of each call as JSON."""

import json
import sys

import requests
from datacite import DataCiteRESTClient
from datacite.errors import DataCiteError

url, repository, password = sys.argv[1:]
METADATA = {
    "creators": [{"name": "Moreau, Lise", "nameType": "Personal"}],
    "titles": [{"title": "Rivers"}],
    "publisher": "River Observatory",
    "publicationYear": "2026",
    "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Dataset"},
    "schemaVersion": "http://datacite.org/schema/kernel-4",
}
PAGE = "http://127.0.0.1/records/1"
DOI = "10.5072/driven"


def client(secret):
    return DataCiteRESTClient(
        username=repository, password=secret, prefix="10.5072", url=f"{url}/", timeout=10
    )


def refusal(call, *args):
    try:
        call(*args)
    except DataCiteError as error:
        return type(error).__name__
    return None


def state(doi):
    response = requests.get(f"{url}/dois/{doi}", auth=(repository, password), timeout=10)
    if not response.ok:
        return response.status_code
    return response.json()["data"]["attributes"]["state"]


own = client(password)
result = {}
own.draft_doi(metadata=dict(METADATA), doi=DOI)
result["draft"] = state(DOI)
result["taken"] = refusal(own.draft_doi, dict(METADATA), DOI)
own.update_doi(DOI, metadata=dict(METADATA), url=PAGE)
own.show_doi(DOI)
result["shown draft"] = state(DOI)
own.public_doi(dict(METADATA), PAGE, "10.5072/public")
result["public"] = state("10.5072/public")
result["title"] = own.get_metadata("10.5072/public")["titles"][0]["title"]
own.hide_doi("10.5072/public")
result["hidden"] = state("10.5072/public")
own.show_doi("10.5072/public")
result["shown"] = state("10.5072/public")
result["deleted public"] = refusal(own.delete_doi, "10.5072/public")
own.draft_doi(metadata=dict(METADATA), doi="10.5072/short-lived")
own.delete_doi("10.5072/short-lived")
result["deleted draft"] = state("10.5072/short-lived")
incomplete = {**METADATA, "creators": []}
result["without creators"] = refusal(own.public_doi, incomplete, PAGE, "10.5072/empty")
result["wrong password"] = refusal(client("wrong").draft_doi, dict(METADATA), "10.5072/other")
print(json.dumps(result))
