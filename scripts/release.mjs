/**
 * `npm run release -- VERSION` makes a release of the checked-out commit: it writes the version and the changelog, commits, tags, and packs
 * the chart, the image context, `kr` and the bill of materials into `dist/`. Nothing is pushed.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { billOfMaterials } from './sbom.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
/** Files with the version of the project. */
const VERSIONED = [
  'package.json',
  '{services,libs,clients,deploy,test}/{,*/}package.json',
  'CITATION.cff',
  'codemeta.json',
  'deploy/helm/knowledge-repository/Chart.yaml',
  'services/gateway/openapi.yaml',
];
const CHART = 'deploy/helm/knowledge-repository';

const [version] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version ?? ''))
  fail('usage: npm run release -- VERSION, such as 1.2.0 or 1.2.0-rc.1');
const tag = `v${version}`;
const previous = JSON.parse(read('package.json')).version;
if (git('status', '--porcelain') !== '') fail('Commit or stash the changes first.');
if (git('tag', '--list', tag) !== '') fail(`The tag ${tag} exists. Choose another version.`);

writeChangelog();
writeVersion();
git('commit', '--all', '--message', `release ${version}`);
git('tag', '--annotate', tag, '--message', `Knowledge Repository ${version}`);
pack();
process.stdout.write(
  `${readdirSync(DIST)
    .map((file) => `dist/${file}`)
    .join('\n')}\nPublish: git push origin HEAD ${tag}\n`,
);

function writeVersion() {
  const line = new RegExp(
    `^(\\s*"?(?:version|appVersion)"?: "?)${previous.replaceAll('.', '\\.')}(?="?,?$)`,
    'gm',
  );
  for (const file of globSync(VERSIONED, { cwd: ROOT, exclude: ['**/node_modules/**'] }))
    write(file, read(file).replaceAll(line, `$1${version}`));
}

/** Entries under Unreleased become those of the version. */
function writeChangelog() {
  const text = read('CHANGELOG.md');
  if (!/^## Unreleased\n+(?!## )\S/m.test(text)) fail('CHANGELOG.md has no entries under Unreleased.');
  const date = new Date().toISOString().slice(0, 10);
  write('CHANGELOG.md', text.replace(/^## Unreleased\n/m, `## Unreleased\n\n## ${version} (${date})\n`));
}

function pack() {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  const ofChart = ['.', ':!ci', ':!README.md.gotmpl', ':!.helmignore'];
  archive(`knowledge-repository-${version}.tgz`, 'knowledge-repository', `${tag}:${CHART}`, ...ofChart);
  archive(`image-context-${version}.tar.gz`, `knowledge-repository-${version}`, tag);
  execFileSync('npm', ['pack', './clients/kr', '--pack-destination', DIST], { cwd: ROOT, stdio: 'pipe' });
  write(`dist/sbom-${version}.cdx.json`, `${JSON.stringify(billOfMaterials(), undefined, 2)}\n`);
  const sums = readdirSync(DIST).map((file) => {
    const digest = createHash('sha256').update(readFileSync(join(DIST, file)));
    return `${digest.digest('hex')}  ${file}\n`;
  });
  write('dist/SHA256SUMS', sums.join(''));
}

function archive(file, folder, ...content) {
  git('archive', '--format=tar.gz', `--output=${join(DIST, file)}`, `--prefix=${folder}/`, ...content);
}

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

function read(file) {
  return readFileSync(join(ROOT, file), 'utf8');
}

function write(file, text) {
  writeFileSync(join(ROOT, file), text);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
