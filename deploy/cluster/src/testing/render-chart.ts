import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Helm } from './open-helm.ts';
import type { PodTemplate, Resource } from './resource.ts';

const HELM_FOLDER = resolve(import.meta.dirname, '../../../helm');
export const CHART = join(HELM_FOLDER, 'knowledge-repository');

/** Values files for the chart, relative to `deploy/helm`. */
export const VALUES_FILES = [
  'knowledge-repository/values.dev.yaml',
  ...globSync(['knowledge-repository/ci/*-values.yaml', 'examples/*/values.yaml'], { cwd: HELM_FOLDER }),
].toSorted();

/** Kinds of resources that have pods. */
export const WORKLOADS = ['Deployment', 'StatefulSet', 'Job', 'CronJob'];

export function pathOf(file: string): string {
  return join(HELM_FOLDER, file);
}

/** The resources of a release called `repository`. @throws Error with the reasons of a refusal */
export async function renderChart(helm: Helm, values: readonly string[]): Promise<Resource[]> {
  return resourcesIn(await helm.template(CHART, values));
}

export function resourcesIn(yaml: string): Resource[] {
  return parseAllDocuments(yaml).flatMap((document) => document.toJS() ?? []);
}

export function podOf({ spec }: Resource): PodTemplate | undefined {
  return spec.template ?? spec.jobTemplate?.spec.template;
}
