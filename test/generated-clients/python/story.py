"""Create, upload, publish, search and page with the client that openapi-python-client makes of the description."""

import sys
from io import BytesIO
from urllib.parse import parse_qs, urlsplit

from generated_client import AuthenticatedClient
from generated_client.api.records import (
    commit_record_upload,
    create_record_draft,
    publish_record,
    put_record_content,
    read_record,
    start_record_uploads,
)
from generated_client.api.search import search
from generated_client.models import Draft, Error, StartRecordUploadsBodyItem
from generated_client.models.search_sort import SearchSort
from generated_client.types import File

base_url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=token, raise_on_unexpected_status=True)


def answered(answer):
    """The answer; an error ends the program with its message."""
    if answer is None or isinstance(answer, Error):
        raise SystemExit(f"no answer, or an error: {answer}")
    return answer


def deposit(title):
    draft = Draft.from_dict(
        {
            "files": {"enabled": True},
            "metadata": {
                "title": title,
                "resource_type": {"id": "dataset"},
                "publication_date": "2026-11-23",
                "creators": [
                    {"person_or_org": {"type": "personal", "family_name": "Popescu", "given_name": "Ana"}}
                ],
            },
        }
    )
    id = answered(create_record_draft.sync(client=client, body=draft)).id
    key = "levels.csv"
    answered(start_record_uploads.sync(id, client=client, body=[StartRecordUploadsBodyItem(key=key)]))
    content = File(payload=BytesIO(b"date,level\n2026-11-23,3.2\n"))
    answered(put_record_content.sync(id, key, client=client, body=content))
    file = answered(commit_record_upload.sync(id, key, client=client))
    assert file.status == "completed", file
    return answered(publish_record.sync(id, client=client, wait_for_index=True))


TITLES = ["Level of Tulcea", "Level of Sulina", "Level of Braila"]
deposited = [deposit(title) for title in TITLES]
for title, entity in zip(TITLES, deposited):
    assert entity.metadata.title == title
    assert entity.metadata.creators[0].person_or_org.family_name == "Popescu"
    assert entity.pids.oai.identifier

listing = answered(search.sync(client=client, q="level", resource_type=["dataset"]))
assert listing.hits.total == len(TITLES), listing.hits.total
buckets = listing.aggregations["resource_type"].buckets
assert [(bucket.key, bucket.is_selected) for bucket in buckets] == [("dataset", True)], buckets

found = []
cursor = "*"
while cursor is not None:
    page = answered(search.sync(client=client, q="level", sort=SearchSort.OLDEST, size=2, cursor=cursor))
    found += [hit.id for hit in page.hits.hits]
    following = page.links.additional_properties.get("next")
    cursor = parse_qs(urlsplit(following).query)["cursor"][0] if following else None
assert found == [entity.id for entity in deposited], found

missing = read_record.sync("00000-00000", client=client)
assert isinstance(missing, Error) and missing.status == 404, missing
