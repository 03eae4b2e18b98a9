"""Uploads the file at argv[2] to the tus creation URL argv[1] in chunks, with a new client after the first one."""

import os
import sys

from tusclient.client import TusClient

creation_url, path = sys.argv[1:]
CHUNK_SIZE = 262_144

client = TusClient(creation_url, headers={"Authorization": f"Bearer {os.environ['TOKEN']}"})
first = client.uploader(path, chunk_size=CHUNK_SIZE)
first.upload_chunk()
second = client.uploader(path, chunk_size=CHUNK_SIZE, url=first.url)
second.upload()
print(second.offset)
