import { parseArgs } from 'node:util';
import { createUser } from '../stack/create-user.ts';

// Run as a process of its own, so that the supervisor need not keep a gRPC client in memory for years.
// The key comes by the environment, because other users of the machine can read command lines.
const { values } = parseArgs({
  options: { address: { type: 'string', default: '' }, name: { type: 'string', default: '' } },
});
const identity = { address: values.address, key: process.env['IDENTITY_KEY'] ?? '' };
console.log(JSON.stringify(await createUser(identity, values.name)));
