import dependencyCruiser from './.dependency-cruiser.mjs';

/** Two folders of a package must not import from each other, directly or through further folders. */
export default {
  forbidden: [
    {
      name: 'no-folder-cycles',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
  ],
  options: dependencyCruiser.options,
};
