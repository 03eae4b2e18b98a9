import { describe, expect, test } from '@jest/globals';
import { checkContentType } from './body.ts';
import type { Route } from './route.ts';

describe('content type', () => {
  test.each<[body: Route['body'], contentType: string | undefined]>([
    ['json', undefined],
    ['json', ''],
    ['json', 'application/json'],
    ['json', 'Application/JSON; charset=utf-8'],
    ['bytes', undefined],
    ['bytes', 'application/octet-stream'],
    ['chunk', 'image/png'],
  ])('a route that takes %s takes %s', (takes, contentType) => {
    expect(() => checkContentType(contentType, takes)).not.toThrow();
  });

  test.each<[body: Route['body'], contentType: string, expected: string]>([
    [
      'json',
      'application/x-www-form-urlencoded',
      'application/json, application/ld+json;profile="https://w3id.org/ro/crate/1.1"',
    ],
    ['json', 'rubbish', 'application/json, application/ld+json;profile="https://w3id.org/ro/crate/1.1"'],
    ['bytes', 'text/plain', 'application/octet-stream'],
    ['bytes', 'multipart/form-data; boundary=x', 'application/octet-stream'],
  ])('a route that takes %s refuses %s', (takes, contentType, expected) => {
    expect(() => checkContentType(contentType, takes)).toThrow(
      `Invalid 'Content-Type' header. Expected one of: ${expected}`,
    );
  });
});
