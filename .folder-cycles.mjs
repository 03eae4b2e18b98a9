import dependencyCruiser from './.dependency-cruiser.mjs';

/** Packages whose cycles are not removed yet. Remove a name when its package passes; never add one. */
const PENDING = '^services/(gateway)/';

/** Two folders of a package must not import from each other, directly or through further folders. */
export default {
  forbidden: [
    {
      name: 'no-folder-cycles',
      severity: 'error',
      scope: 'folder',
      from: { pathNot: PENDING },
      to: { circular: true },
    },
  ],
  options: dependencyCruiser.options,
};
