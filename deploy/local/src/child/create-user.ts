import { parseArgs } from 'node:util';
import { createUser } from '../stack/create-user.ts';

// A separate process, so that the supervisor need not load a gRPC client permanently. The key is in the
// environment, because other users of the machine can read command lines.
const { values } = parseArgs({
  options: { address: { type: 'string', default: '' }, name: { type: 'string', default: '' } },
});
const identity = { address: values.address, key: process.env['IDENTITY_KEY'] ?? '' };
console.log(JSON.stringify(await createUser(identity, values.name)));
