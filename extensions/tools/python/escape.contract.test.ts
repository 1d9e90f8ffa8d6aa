import { existsSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import type { Attempt } from "./attempts/attempt.fixture.ts";
import { exhaustion } from "./attempts/exhaustion.fixture.ts";
import { hostAccess } from "./attempts/host.fixture.ts";
import { javascript } from "./attempts/javascript.fixture.ts";
import { modules } from "./attempts/modules.fixture.ts";
import { traces } from "./attempts/traces.fixture.ts";
import { createPython } from "./python.ts";
import { openSurroundings } from "./surroundings.fixture.ts";

const escapes = [...modules, ...hostAccess, ...javascript];
const patient = createPython({ interpreters: 1, timeoutMs: 20_000 });
const strict = createPython({ interpreters: 1, timeoutMs: 1500, memoryMb: 128 });
const { folder, secret, written, port, visits, close } = await openSurroundings();

afterAll(() => {
  patient.close();
  strict.close();
  close();
});

/** SECRET, WRITTEN, FOLDER, ADDRESS and PORT in an attempt are a file with a secret, one to be written, their folder, a server of this machine. */
function filled(code: string): string {
  return code
    .replaceAll("SECRET", secret)
    .replaceAll("WRITTEN", written)
    .replaceAll("FOLDER", folder)
    .replaceAll("ADDRESS", `127.0.0.1:${port}`)
    .replaceAll("PORT", String(port));
}

const cases = ([...escapes.map((one) => [one, patient]), ...traces.map((one) => [one, patient])] as const).map(
  ([one, python]) => [(one as Attempt).what, one as Attempt, python as typeof patient] as const,
);

test.each([...cases, ...exhaustion.map((one) => [one.what, one, strict] as const)])(
  "%s leads nowhere, and the next session is served",
  async (_, { code, result = /^/, after = ["1+1", "2\n"] }, python) => {
    const { output, error = "" } = await python.run(filled(code));
    expect(output + error).toMatch(result);
    expect(output + error).not.toContain("hidden value");
    expect(output).not.toContain("secret.txt");
    expect((output + error).length).toBeLessThan(20_000);
    expect(existsSync(written)).toBe(false);
    expect(visits).toEqual([]);
    expect(await python.run(after[0])).toEqual({ output: after[1], error: undefined });
  },
);

test("what one kept session does to its interpreter is not seen by another that shares it", async () => {
  const [a, b] = [patient.session(), patient.session()];
  await b.run("x = 'b'");
  for (const { code } of traces.slice(0, 12)) await a.run(filled(code));
  expect(await b.run("import fractions\nprint(x, fractions.Fraction(1, 2) + 1)")).toEqual({
    output: "b 3/2\n",
    error: undefined,
  });
});
