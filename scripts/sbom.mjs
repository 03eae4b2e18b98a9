/**
 * `node sbom.mjs [FOLDER]` prints a bill of materials (CycloneDX 1.6) of the packages that pnpm installed in a folder, by default in this
 * checkout, with their licenses.
 */
import { globSync, lstatSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');

/** The bill of materials as an object. */
export function billOfMaterials(folder = ROOT) {
  const manifests = globSync('node_modules/.pnpm/*/node_modules/{*,@*/*}/package.json', { cwd: folder })
    // Dependencies of a package are links beside it.
    .filter((file) => lstatSync(join(folder, file, '..')).isDirectory())
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
    .filter(({ name, version }) => name !== undefined && version !== undefined);
  const components = new Map(manifests.map(component).map((one) => [one.purl, one]));
  const { name, version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', name, version, licenses: [{ expression: license }] } },
    components: [...components.values()].toSorted((a, b) => a.purl.localeCompare(b.purl)),
  };
}

function component({ name, version, license, licenses, homepage }) {
  // A scope's @ is encoded: https://github.com/package-url/purl-spec
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  // Packages of before 2015 have objects.
  const named = license?.type ?? license ?? licenses?.map(({ type }) => type).join(' OR ');
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(named && { licenses: [isExpression(named) ? { expression: named } : { license: { name: named } }] }),
    ...(homepage && { externalReferences: [{ type: 'website', url: homepage }] }),
  };
}

/** Of SPDX: identifiers, combined with OR, AND, WITH and parentheses. */
function isExpression(text) {
  return /^\(*[\w.+-]+(\)* (OR|AND|WITH) \(*[\w.+-]+)*\)*$/.test(text);
}

if (import.meta.main)
  process.stdout.write(`${JSON.stringify(billOfMaterials(process.argv[2]), undefined, 2)}\n`);
