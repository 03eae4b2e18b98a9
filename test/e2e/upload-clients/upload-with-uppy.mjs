// Uploads the file at argv[3] to the tus creation URL argv[2] with Uppy. A separate program, because Uppy's
// types would add a browser's types to every other test.
import { readFile } from 'node:fs/promises';
import Uppy from '@uppy/core';
import Tus from '@uppy/tus';

const [, , endpoint, path] = process.argv;
const bytes = await readFile(path);
const uppy = new Uppy().use(Tus, {
  endpoint,
  headers: { Authorization: `Bearer ${process.env.TOKEN}` },
  chunkSize: 262_144,
});
// Outside a browser the tus plugin reads Buffers instead of Blobs.
uppy.addFile({ name: 'data.bin', data: Object.assign(bytes, { size: bytes.length }) });
const { failed } = await uppy.upload();
if (failed.length > 0) throw new Error(failed[0].error);
process.stdout.write(`${bytes.length}\n`);
