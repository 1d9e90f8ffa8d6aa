import { expect, test } from "vitest";
import { officeUserSettingsSchema } from "./settings.ts";

const endpoint = { kind: "endpoint", model: "m", baseUrl: "https://example.org/v1", answers: "kept" };
const problems = (settings: unknown) =>
  officeUserSettingsSchema.safeParse(settings).error?.issues.map(({ path }) => path.join(".")) ?? [];

test("without settings the user is a script in the default office", () => {
  expect(officeUserSettingsSchema.parse({})).toMatchObject({ user: { kind: "scripted" }, office: { difficulty: "default" } });
});

test("a model as the user has its key in a variable, says at most 300 tokens a minute, and is asked again five times", () => {
  expect(officeUserSettingsSchema.parse({ user: endpoint }).user).toEqual({
    ...endpoint,
    ...{ apiKeyEnv: "OPENAI_API_KEY", temperature: 1, maxTokens: 300, timeoutMs: 60_000, retries: 5 },
  });
  expect(problems({ user: { ...endpoint, apiKeyEnv: null, temperature: 0, maxTokens: 1, timeoutMs: 1, retries: 0 } })).toEqual(
    [],
  );
});

test.each([
  [{ baseUrl: "ftp://example.org" }, "user.baseUrl"],
  [{ apiKeyEnv: "key" }, "user.apiKeyEnv"],
  [{ temperature: -0.1 }, "user.temperature"],
  [{ maxTokens: 0 }, "user.maxTokens"],
  [{ timeoutMs: 2 ** 31 }, "user.timeoutMs"],
  [{ timeoutMs: 0 }, "user.timeoutMs"],
  [{ retries: -1 }, "user.retries"],
  [{ answers: "" }, "user.answers"],
  [{ model: "" }, "user.model"],
])("%j is refused by its name", (change, path) => {
  expect(problems({ user: { ...endpoint, ...change } })).toEqual([path]);
});

test("the office's own settings are checked as its own", () => {
  expect(problems({ office: { faults: 2 } })).toEqual(["office.faults"]);
  expect(problems({ user: { kind: "scripted", model: "m" } })).not.toEqual([]);
});
