import { type FindOptions, findGoProgram } from '../go-program.ts';

/** The path of VersityGW, an S3 server over a folder. @throws Error when it is neither installed nor can be built */
export function findS3Server(options: FindOptions = {}): Promise<string> {
  return findGoProgram(
    {
      name: 'versitygw',
      source: 'github.com/versity/versitygw/cmd/versitygw',
      version: '1.8.0',
      probe: ['--version'],
      buildMs: 900_000,
    },
    options,
  );
}
