"""Validates answers of OAI-PMH, one file each, with the schemas of the protocol, oai_dc and DataCite.

Usage: validate_oai.py SCHEMAS_FOLDER FILE...
"""

import sys
from pathlib import Path

from lxml import etree

folder, *files = sys.argv[1:]
schemas = Path(folder)
LOCAL = {
    "http://www.w3.org/2001/xml.xsd": "oai-pmh/xml.xsd",
    "http://www.w3.org/2001/03/xml.xsd": "oai-pmh/xml.xsd",
    "http://www.w3.org/2009/01/xml.xsd": "oai-pmh/xml.xsd",
    "http://dublincore.org/schemas/xmls/simpledc20021212.xsd": "oai-pmh/simpledc20021212.xsd",
}


class Offline(etree.Resolver):
    def resolve(self, url, _id, context):
        if url in LOCAL:
            return self.resolve_filename(str(schemas / LOCAL[url]), context)
        return None


parser = etree.XMLParser(no_network=True)
parser.resolvers.add(Offline())
IMPORTS = {
    "http://www.openarchives.org/OAI/2.0/": "oai-pmh/OAI-PMH.xsd",
    "http://www.openarchives.org/OAI/2.0/oai_dc/": "oai-pmh/oai_dc.xsd",
    "http://datacite.org/schema/kernel-4": "datacite/kernel-4.6/metadata.xsd",
}
driver = "".join(
    f'<xs:import namespace="{name}" schemaLocation="{(schemas / file).as_uri()}"/>' for name, file in IMPORTS.items()
)
root = etree.fromstring(f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{driver}</xs:schema>', parser)
schema = etree.XMLSchema(root)
for file in files:
    document = etree.parse(file)
    if not schema.validate(document):
        print(f"{file}: {schema.error_log}")
