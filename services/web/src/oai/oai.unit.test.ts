import { describe, expect, test } from '@jest/globals';
import { readArguments } from './arguments.ts';
import { OaiError } from './oai-error.ts';
import { readToken, writeToken } from './resumption-token.ts';

describe('arguments of OAI-PMH', () => {
  test.each([
    ['', 'badVerb'],
    ['verb=Unknown', 'badVerb'],
    ['verb=Identify&verb=Identify', 'badVerb'],
    ['verb=Identify&set=x', 'badArgument'],
    ['verb=GetRecord&identifier=x', 'badArgument'],
    ['verb=ListRecords&metadataPrefix=oai_dc&metadataPrefix=oai_dc', 'badArgument'],
    ['verb=ListRecords&metadataPrefix=oai_dc&resumptionToken=x', 'badArgument'],
    ['verb=ListRecords&metadataPrefix=oai_dc&from=yesterday', 'badArgument'],
    ['verb=ListRecords&metadataPrefix=oai_dc&from=2026-13-40', 'badArgument'],
    ['verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-02&until=2026-01-01', 'badArgument'],
  ])('%s: %s', (query, code) => {
    const read = () => readArguments(new URLSearchParams(query));
    expect(read).toThrow(OaiError);
    expect(read).toThrow(expect.objectContaining({ code }));
  });

  test('a valid request', () => {
    expect(
      readArguments(new URLSearchParams('verb=ListIdentifiers&metadataPrefix=oai_dc&from=2026-01-01')),
    ).toEqual({
      verb: 'ListIdentifiers',
      metadataPrefix: 'oai_dc',
      from: '2026-01-01',
    });
  });
});

describe('resumption tokens', () => {
  const state = {
    prefix: 'oai_dc',
    set: 'records',
    start: '2026-01-01T00:00:00.000Z',
    cursor: 'abc',
    position: 100,
  };

  test('keep the whole state', () => {
    expect(readToken(writeToken(state))).toEqual(state);
  });

  test.each(['', 'x', Buffer.from('[]').toString('base64url'), Buffer.from('[1,{}]').toString('base64url')])(
    '%j is refused',
    (token) => {
      expect(() => readToken(token)).toThrow(OaiError);
    },
  );
});
