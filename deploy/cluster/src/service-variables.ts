import * as accessLinks from '@kr/access-links-service/config';
import * as files from '@kr/files-service/config';
import * as gateway from '@kr/gateway-service/config';
import { PROGRAMS, type ProgramName } from '@kr/local-stack';
import * as packages from '@kr/packages-service/config';
import * as records from '@kr/records-service/config';
import * as search from '@kr/search-service/config';
import type { Environment, Section, Variable } from '@kr/service-config';
import { LOG_VARIABLES } from '@kr/telemetry';
import * as web from '@kr/web-service/config';

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
