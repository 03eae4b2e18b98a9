const service = '^services/([^/]+)/';

const OPERATORS_COMMANDS =
  '/commands/(users|import-vocabulary|publications|verify-files|collect-garbage|quota|search-index|dead-letters|dois|backup|restore|migration-status)\\.ts$|/settings/(call-as-operator|reach-system|runtime)\\.ts$';

/** Import rules. `test/contract/boundaries.contract.test.ts` plants a violation of each. */
export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: { pathNot: '/gen/' }, to: { circular: true } },
    {
      name: 'services-never-import-services',
      comment: 'Services communicate through proto/ and events only.',
      severity: 'error',
      from: { path: service },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'libs-never-import-services',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(services|deploy|clients)/' },
    },
    {
      name: 'clients-know-the-public-api-only',
      comment:
        'Commands for operators (users, vocabularies, publications, stored bytes, quotas, the index, dead letters, backups, schemas) have no calls in the public API.',
      severity: 'error',
      from: { path: '^clients/', pathNot: OPERATORS_COMMANDS },
      to: { path: '^(services|libs|deploy|proto)/' },
    },
    {
      name: 'only-the-index-of-a-lib',
      comment: 'Modules that a lib does not export may change at any time.',
      severity: 'error',
      from: { path: '^(services|deploy|test)/' },
      to: { path: '^libs/[^/]+/src/(?!index\\.ts$|preload\\.ts$)' },
    },
    {
      name: 'only-the-index-of-a-lib-for-other-libs',
      severity: 'error',
      from: { path: '^libs/([^/]+)/' },
      to: { path: '^libs/[^/]+/src/(?!index\\.ts$)', pathNot: '^libs/$1/' },
    },
    {
      name: 'rules-are-pure',
      comment: 'Rules and sagas are decided without the world: no npm package, no Node module.',
      severity: 'error',
      from: { path: '(-rules|-saga)\\.ts$' },
      to: { dependencyTypes: ['npm', 'core'], pathNot: '@kr/' },
    },
    {
      name: 'rules-know-no-backend',
      comment:
        'The core of a domain reaches neither transport nor storage nor messaging, not even through our libs.',
      severity: 'error',
      from: { path: '(-rules|-saga)\\.ts$|^libs/(access-policy|metadata|caller|service-error)/src/' },
      to: {
        path: '^libs/(rpc|event-bus|schema-migration|telemetry)/|/gen/prisma/|/store/|node_modules/(@grpc|@prisma|@nats-io|pg|express)/',
      },
    },
    {
      name: 'only-the-event-bus-knows-nats',
      severity: 'error',
      from: { path: '^(services|libs)/', pathNot: '^libs/event-bus/|\\.test\\.ts$' },
      to: { path: 'node_modules/@nats-io/' },
    },
    {
      name: 'only-rpc-and-contracts-know-grpc',
      severity: 'error',
      from: { path: '^(services|libs)/', pathNot: '^libs/(rpc|contracts)/|\\.test\\.ts$' },
      to: { path: 'node_modules/@grpc/' },
    },
    {
      name: 'tests-are-nobodys-dependency',
      severity: 'error',
      from: { path: '^(services|libs|clients|deploy)/', pathNot: '(\\.test|-fixture)\\.ts$|/testing/' },
      to: { path: '^test/|(\\.test|-fixture)\\.ts$|/src/testing/' },
    },
    {
      name: 'no-grab-bags',
      severity: 'error',
      from: {},
      to: { path: '/(utils?|helpers?|common|shared|misc)(/|\\.ts$)', pathNot: 'node_modules|/gen/' },
    },
    {
      name: 'resolvable',
      severity: 'error',
      // The types of a generated client exist while its test runs.
      from: { pathNot: '/gen/|^test/generated-clients/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules|/gen/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['node', 'import'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
