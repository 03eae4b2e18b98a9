import { readFileSync } from 'node:fs';
import { PROGRAMS, type ProgramName, SERVICES, type ServiceName } from '@kr/local-stack';
import { describeVariables, type Environment, type Variable } from '@kr/service-config';
import { readLogLevel } from '@kr/telemetry';
import { readConfig as readAccessLinks } from '../../../services/access-links/src/config.ts';
import { readConfig as readFiles } from '../../../services/files/src/config.ts';
import { readConfig as readGateway } from '../../../services/gateway/src/config.ts';
import { readConfig as readPackages } from '../../../services/packages/src/config.ts';
import { readConfig as readRecords } from '../../../services/records/src/config.ts';
import { readConfig as readSearch } from '../../../services/search/src/config.ts';
import { readConfig as readWeb } from '../../../services/web/src/config.ts';

/** How each service reads its environment. They throw ConfigError. */
export const CONFIGURATIONS: Record<ProgramName, (env: Environment) => unknown> = {
  gateway: readGateway,
  records: readRecords,
  packages: readPackages,
  files: readFiles,
  'access-links': readAccessLinks,
  search: readSearch,
  web: readWeb,
};

/** The variables of each service, in the order of their reading. */
export function serviceVariables(): ReadonlyMap<ProgramName, readonly Variable[]> {
  return new Map(PROGRAMS.map((name) => [name, describeVariables(CONFIGURATIONS[name])]));
}

/** The services with failpoints (`FAILPOINT`), according to their `main.ts`. */
export function servicesWithFailpoints(): readonly ServiceName[] {
  return SERVICES.filter((name) => {
    const main = new URL(`../../../services/${name}/src/main.ts`, import.meta.url);
    return readFileSync(main, 'utf8').includes("process.env['FAILPOINT']");
  });
}

/** The variables that every process reads before its configuration. */
export function logVariables(): readonly Variable[] {
  return describeVariables(readLogLevel);
}
