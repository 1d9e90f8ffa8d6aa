import { expect, test } from "vitest";
import { isFiniteJson } from "./form.ts";

test.each([
  ['{"n": 1e999}', false],
  ['{"n": [1, -2e4735]}', false],
  ['{"n": "1e999"}', true],
  ['{"n": 1e300}', true],
  ['{"n": 1e9', true],
])("%s has numbers that readers hold: %s", (text, finite) => expect(isFiniteJson(text)).toBe(finite));
