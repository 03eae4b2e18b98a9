const KEY = 'a key of at least thirty-two characters';

/** The required variables of a gateway. No process listens at these addresses. */
export const MINIMAL_ENVIRONMENT = {
  DATABASE_URL: 'postgres://localhost/none',
  FILES_CONTENT_URL: 'http://localhost',
  CALLER_KEYS: `operator=${KEY}`,
  SEALING_KEY: KEY,
  ...Object.fromEntries(
    ['RECORDS', 'PACKAGES', 'FILES', 'ACCESS_LINKS', 'SEARCH'].flatMap((name) => [
      [`${name}_ADDRESS`, 'localhost:1'],
      [`${name}_KEY`, KEY],
    ]),
  ),
};
