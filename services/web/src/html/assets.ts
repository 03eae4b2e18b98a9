import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface Asset {
  type: string;
  bytes: Buffer;
}

export interface Assets {
  /** The URL of a file; its content hash lets browsers keep it forever. @throws for a name that does not exist */
  url(name: string): string;
  /** The file at the path of such a URL. */
  find(path: string): Asset | undefined;
}

/** Reads all files of a folder once, and adds generated ones. */
export function loadAssets(folder: string, generated: Readonly<Record<string, string>> = {}): Assets {
  const urls = new Map<string, string>();
  const byPath = new Map<string, Asset>();
  const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
  const generatedFiles = Object.entries(generated).map(([name, text]) => [name, Buffer.from(text)] as const);
  for (const [name, bytes] of [...files, ...generatedFiles]) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
    const path = `/static/${hash}/${name}`;
    urls.set(name, path);
    byPath.set(path, { type, bytes });
  }
  return {
    url(name) {
      const url = urls.get(name);
      if (url === undefined) throw new Error(`there is no asset ${name}`);
      return url;
    },
    find: (path) => byPath.get(path),
  };
}
