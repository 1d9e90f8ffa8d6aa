import "../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { isSignedHere, signatureOf } from "../files/own-key.ts";
import { createRun } from "../runs/write.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { recordedConfig, requireTrustedWorld, wholeConfig } from "./run-environment.ts";
import { UntrustedError } from "./trust.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Every folder of settings belongs to a user of its own, who has a key of his own. */
const becomeAnotherUser = () => vi.stubEnv("XDG_CONFIG_HOME", mkdtempSync(join(tmpdir(), "retrograde-user-")));
function runOf(config: UserConfig): string {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-foreign-")), "run");
  createRun(folder, resolveConfig(config));
  return folder;
}
const player = { baseUrl: "https://models.example/v1", model: "m", apiKeyEnv: "MY_KEY" };

test("a run of somebody else does nothing before it is trusted, and what it would do is said; one's own may", () => {
  becomeAnotherUser();
  const run = runOf({ environment: "office", evaluation: { player } });
  expect(wholeConfig(run).evaluation.player).toMatchObject(player);
  becomeAnotherUser();
  expect(() => wholeConfig(run)).toThrow(UntrustedError);
  expect(() => wholeConfig(run)).toThrow(
    `${run} is "not made on this machine by you"; expected a record of your own, since this one sends $MY_KEY to "https://models.example/v1"`,
  );
  // Parts that do nothing are anybody's to read.
  expect(recordedConfig(run, ["rollout", "chat"]).rollout.groupSize).toBe(8);
  expect(() => recordedConfig(run, ["evaluation"])).toThrow(UntrustedError);
  expect(() => requireTrustedWorld(run)).not.toThrow();
});

test("a key is this user's alone: a record that another one signed, or that was changed or renamed, is not his", () => {
  becomeAnotherUser();
  const record = { a: 1 };
  expect(isSignedHere("run.json", { ...record, origin: "0".repeat(64) })).toBe(false); // there is no key yet, and none is made
  const origin = signatureOf("x/run.json", record);
  expect(origin).toMatch(/^[0-9a-f]{64}$/);
  expect(signatureOf("y/run.json", record)).toBe(origin);
  const isOwn = (path: string, of: object) => isSignedHere(path, of as { origin?: unknown });
  expect(isOwn("z/run.json", { ...record, origin })).toBe(true);
  expect(isOwn("evaluation.json", { ...record, origin })).toBe(false);
  expect(isOwn("run.json", { a: 2, origin })).toBe(false);
  for (const other of [undefined, 5, "", origin?.slice(1)]) expect(isOwn("run.json", { ...record, origin: other })).toBe(false);
  becomeAnotherUser();
  expect(isOwn("run.json", { ...record, origin })).toBe(false);
});

test("a user who can keep no key signs nothing", () => {
  vi.stubEnv("XDG_CONFIG_HOME", "/dev/null/none");
  expect(signatureOf("run.json", { a: 1 })).toBeUndefined();
});
