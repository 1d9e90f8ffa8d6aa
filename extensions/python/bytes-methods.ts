import { strip } from "./characters.ts";
import type { Method, Methods } from "./method.ts";
import { Bytes } from "./objects.ts";
import { Tuple, typeError, typeName, type Value, valueError } from "./values.ts";

/** The methods of bytes that tools call on texts: ASCII alone changes, and what they compare with must be bytes. */
export const bytesMethods: Methods<Bytes> = {
  lower: ofBytes((self) => self.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())),
  upper: ofBytes((self) => self.replace(/[a-z]+/g, (letters) => letters.toUpperCase())),
  strip: strippedBytes("both"),
  lstrip: strippedBytes("left"),
  rstrip: strippedBytes("right"),
  startswith: bytesAffix("startswith", (self, part) => self.startsWith(part)),
  endswith: bytesAffix("endswith", (self, part) => self.endsWith(part)),
  isdigit: ({ characters }) => /^[0-9]+$/.test(characters),
  split: ({ characters }, [separator = null]) => {
    if (separator === null) return (characters.match(/[^\t-\r ]+/g) ?? []).map((word) => new Bytes(word));
    const part = asBytes(separator);
    if (part === "") throw valueError("empty separator");
    return characters.split(part).map((piece) => new Bytes(piece));
  },
  splitlines: ({ characters }) => splitAtLineEnds(characters).map((line) => new Bytes(line)),
};

function splitAtLineEnds(characters: string): string[] {
  const lines = characters.split(/\r\n|\r|\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function ofBytes(body: (characters: string) => string): Method<Bytes> {
  return ({ characters }) => new Bytes(body(characters));
}

function asBytes(value: Value): string {
  if (value instanceof Bytes) return value.characters;
  throw typeError(`a bytes-like object is required, not '${typeName(value)}'`);
}

function strippedBytes(side: "both" | "left" | "right"): Method<Bytes> {
  return ({ characters }, [removed = null]) =>
    new Bytes(strip(characters, removed === null ? "\t\n\v\f\r " : asBytes(removed), side));
}

function bytesAffix(name: string, test: (characters: string, part: string) => boolean): Method<Bytes> {
  return ({ characters }, [wanted = null]) => {
    if (wanted instanceof Tuple) return wanted.items.some((part) => test(characters, asBytes(part)));
    if (wanted instanceof Bytes) return test(characters, wanted.characters);
    throw typeError(`${name} first arg must be bytes or a tuple of bytes, not ${typeName(wanted)}`);
  };
}
