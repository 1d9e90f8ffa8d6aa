import { crc32 } from "node:zlib";

/** The last field of a sealed object, at the end of its text. */
const sealAtEnd = /,\s*"crc32":\s?(\d+)\s*\}\s*$/;

/** No seal is longer. The index has lines of many megabytes, of which only the end is looked at. */
const sealLength = 40;

/**
 * Returns the JSON text of an object with one more field at its end: `crc32`, of the text before it in UTF-8. CRC-32 finds every flipped bit.
 * @param json of an object with at least one field, on one line or indented by two
 */
export function sealed(json: string): string {
  const indented = json.includes("\n");
  const body = json.slice(0, -1).trimEnd();
  return indented ? `${body},\n  "crc32": ${crc32(body)}\n}` : `${body},"crc32":${crc32(body)}}`;
}

/**
 * Parses a text that `sealed` may have made.
 * @param expected the checksum of the whole text, where another file has it
 * @throws Error if the text is no JSON, or has another checksum than when it was written
 */
export function unsealed(text: string, expected?: number): unknown {
  const content: unknown = JSON.parse(text);
  const end = text.slice(-sealLength);
  const seal = sealAtEnd.exec(end);
  const body = seal === null ? undefined : text.slice(0, text.length - end.length + seal.index);
  if (expected !== undefined && crc32(text) !== expected) throw new Error(changed);
  if (seal !== null && crc32(body as string) !== Number(seal[1])) throw new Error(changed);
  return content;
}

/** True for the end of a sealed line whose newline was damaged. Half a line, which a kill leaves, has no seal. */
export function lostItsEnd(rest: string): boolean {
  return /"crc32":\d+\}.?$/s.test(rest.slice(-sealLength));
}

const changed = "it has another checksum than when it was written";
