/** One number of a step, by the name under which it is shown. */
export interface Scalar {
  readonly step: number;
  readonly tag: string;
  readonly value: number;
}

/**
 * Encodes an event file of TensorBoard: records as in TensorFlow's `record_writer.cc`, each an `Event` of `event.proto`.
 *
 *   length (uint64) · masked CRC-32C of it · data · masked CRC-32C of it          little-endian
 *
 * @param wallTime of a step, in seconds since 1970
 */
export function encodeEvents(scalars: readonly Scalar[], wallTime: (step: number) => number): Uint8Array {
  const version = join([field(1, 1), double(wallTime(0)), bytesField(3, new TextEncoder().encode("brain.Event:2"))]);
  const events = scalars.map(({ step, tag, value }) => {
    const simple = join([bytesField(1, new TextEncoder().encode(tag)), field(2, 5), float(value)]);
    return join([field(1, 1), double(wallTime(step)), field(2, 0), varint(step), bytesField(5, bytesField(1, simple))]);
  });
  return join([version, ...events].map(framed));
}

function framed(data: Uint8Array): Uint8Array {
  const header = new Uint8Array(8);
  new DataView(header.buffer).setBigUint64(0, BigInt(data.length), true);
  return join([header, uint32(masked(crc32c(header))), data, uint32(masked(crc32c(data)))]);
}

/** Field number and wire type of Protocol Buffers: 0 varint, 1 eight bytes, 2 a length and bytes, 5 four bytes. */
function field(number: number, wireType: number): Uint8Array {
  return varint(number * 8 + wireType);
}

function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  return join([field(number, 2), varint(bytes.length), bytes]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest % 128) + (rest >= 128 ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Uint8Array.from(bytes);
}

function double(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return bytes;
}

function float(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return bytes;
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let crc = n;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** CRC-32C (Castagnoli), as in RFC 3720, appendix B.4. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** TensorFlow's masked form: a checksum of data that contains checksums is weak. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
