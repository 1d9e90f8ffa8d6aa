import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { permission } from "./permission.ts";

const text = "A run was not made on this machine.";

async function answered(keys: string): Promise<boolean | undefined> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = "";
  output.on("data", (part: Buffer) => (shown += part));
  const answer = permission(text, input, output);
  input.write(keys);
  const allowed = await answer;
  expect(shown).toMatch(/^A run was not made on this machine\.\n.*\[y\/N\] /s);
  expect(shown).toMatch(/\n$/);
  expect(input.listenerCount("keypress")).toBe(0);
  return allowed;
}

test.each([
  ["y\r", true],
  ["  YES \r", true],
  ["n\r", false],
  ["\r", false],
  ["yes please\r", false],
  ["yy\r", false],
  ["\x04", false],
  ["y\x03", undefined],
  ["\x03", undefined],
])("the answer %j is %s", async (keys, allowed) => {
  expect(await answered(keys)).toBe(allowed);
});

test("an input that has ended is a no", async () => {
  const input = new PassThrough();
  input.end();
  expect(await permission(text, input, new PassThrough())).toBe(false);
});
