import { expect, test } from '@jest/globals';
import { createTerminal } from './terminal.ts';

test('texts of others cannot control the terminal or change the direction of text', () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text), isTTY: true };
  const { print, note, status } = createTerminal(stream, stream);
  const hostile = 'a\u001b[2J\u009b2J\u0007\u007f\u202egpj\u2066\t漢\nb';
  const printed = 'a\\u001b[2J\\u009b2J\\u0007\\u007f\\u202egpj\\u2066\t漢\nb';
  print(hostile);
  note(hostile);
  status(hostile);
  expect(written).toEqual([`${printed}\n`, `\r\u001b[K${printed}\n`, `\r\u001b[K${printed}`]);
});

test('JSON stays the same value', () => {
  const written: string[] = [];
  const value = { title: 'a\u009b\u202e\u200f\u0007' };
  createTerminal({ write: (text) => written.push(text) }, { write: () => undefined }).print(
    JSON.stringify(value),
  );
  expect(JSON.parse(written.join(''))).toEqual(value);
});
