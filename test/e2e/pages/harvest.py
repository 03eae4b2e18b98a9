"""Harvests a repository with Sickle and prints the identifiers of live and deleted records as JSON.

Usage: harvest.py BASE_URL PREFIX [SET]
"""

import json
import sys

from sickle import Sickle

base, prefix, *sets = sys.argv[1:]
found = {"live": [], "deleted": []}
for record in Sickle(base).ListRecords(metadataPrefix=prefix, **({"set": sets[0]} if sets else {})):
    found["deleted" if record.deleted else "live"].append(record.header.identifier)
    print(f"harvested {record.header.identifier}", file=sys.stderr, flush=True)
print(json.dumps(found))
