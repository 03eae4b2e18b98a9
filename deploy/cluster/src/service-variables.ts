import { PROGRAMS, type ProgramName } from '@kr/local-stack';
import type { Environment, Section, Variable } from '@kr/service-config';
import { LOG_VARIABLES } from '@kr/telemetry';
import * as accessLinks from '../../../services/access-links/src/config.ts';
import * as files from '../../../services/files/src/config.ts';
import * as gateway from '../../../services/gateway/src/config.ts';
import * as packages from '../../../services/packages/src/config.ts';
import * as records from '../../../services/records/src/config.ts';
import * as search from '../../../services/search/src/config.ts';
import * as web from '../../../services/web/src/config.ts';

interface Configuration {
  /** @throws ConfigError */
  readConfig(env: Environment): unknown;
  VARIABLES: Pick<Section<unknown>, 'describe'>;
}

/** How each service reads its environment. */
export const CONFIGURATIONS: Record<ProgramName, Configuration> = {
  gateway,
  records,
  packages,
  files,
  'access-links': { readConfig: accessLinks.readConfig, VARIABLES: accessLinks.VARIABLES },
  search,
  web,
};

/** The variables of each service, in the order of their reading. */
export function serviceVariables(): ReadonlyMap<ProgramName, readonly Variable[]> {
  return new Map(PROGRAMS.map((name) => [name, CONFIGURATIONS[name].VARIABLES.describe()]));
}

/** The variables that every process reads before its configuration. */
export function logVariables(): readonly Variable[] {
  return LOG_VARIABLES.describe();
}
