/** An array of one dimension, without nulls, as `array_recv` of Postgres reads it; `elementType` is the oid. */
export function binaryArray(elements: readonly Buffer[], elementType: number): Buffer {
  const head = Buffer.alloc(20);
  head.writeInt32BE(1, 0);
  head.writeInt32BE(elementType, 8);
  head.writeInt32BE(elements.length, 12);
  head.writeInt32BE(1, 16);
  return Buffer.concat([head, ...elements.flatMap((element) => [lengthOf(element), element])]);
}

function lengthOf(element: Buffer): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeInt32BE(element.length);
  return length;
}
