import protobuf from "protobufjs/minimal.js";

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
  // Tags of fields: number · 8 + wire type.
  const event = (step: number) => protobuf.Writer.create().uint32(0x09).double(wallTime(step));
  const version = event(0).uint32(0x1a).string("brain.Event:2").finish();
  const events = scalars.map(({ step, tag, value }) => {
    const summary = event(step).uint32(0x10).int64(step).uint32(0x2a).fork().uint32(0x0a).fork();
    return summary.uint32(0x0a).string(tag).uint32(0x15).float(value).ldelim().ldelim().finish();
  });
  return Buffer.concat([version, ...events].flatMap(framed));
}

function framed(data: Uint8Array): Uint8Array[] {
  const header = Buffer.alloc(8);
  header.writeBigUInt64LE(BigInt(data.length));
  return [header, checksum(header), data, checksum(data)];
}

function checksum(bytes: Uint8Array): Uint8Array {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(masked(crc32c(bytes)));
  return checksum;
}

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let crc = n;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** CRC-32C (Castagnoli), as in RFC 3720, appendix B.4. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = Number(table[(crc ^ byte) & 255]) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** TensorFlow's masked form: a checksum of data that contains checksums is weak. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
