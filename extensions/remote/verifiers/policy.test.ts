import { expect, test } from "vitest";
import type { TokenPolicy } from "../../../src/environments/environment.ts";
import { HttpError } from "../../http/http-error.ts";
import { inferenceModel } from "./policy.ts";

/** A policy whose tokens are characters. */
function policyOf(prompt: unknown) {
  const asked: object[] = [];
  const policy = {
    ...{ maxLength: 50, vocabularySize: 300, maxTokens: 9, temperature: 0.5, topP: 0.9, topK: 4 },
    decode: (tokens: readonly number[]) => String.fromCharCode(...tokens),
    sample: async (request: object) => {
      asked.push(request);
      return { tokens: [1] };
    },
  } as unknown as TokenPolicy;
  const model = inferenceModel(policy, prompt);
  const sample = (text: string, more: object = {}) =>
    (async () =>
      model.sample({ context: [...text].map((each) => each.charCodeAt(0)), ...more } as never, new AbortController().signal))();
  return { model, asked, sample };
}

test("actions are the policy's, with its limits where none are given", async () => {
  const { model, asked, sample } = policyOf(undefined);
  expect([model.maxLength, model.vocabularySize]).toEqual([50, 300]);
  expect(await sample("a", { temperature: 0.5, topP: 0.9, topK: 4, stopTokens: [2], stopStrings: ["x"] })).toEqual({
    tokens: [1],
  });
  await sample("a", { maxTokens: 3 });
  expect(asked).toEqual([
    { context: [97], maxTokens: 9, stopTokens: [2], stopStrings: ["x"] },
    { context: [97], maxTokens: 3, stopTokens: undefined, stopStrings: undefined },
  ]);
});

test.each([
  ["temperature", 1, 0.5],
  ["topP", 1, 0.9],
  ["topK", 0, 4],
])("another %s than the run's is refused", async (name, value, own) => {
  const { asked, sample } = policyOf(undefined);
  const refused = sample("a", { [name]: value });
  await expect(refused).rejects.toThrow(HttpError);
  await expect(refused).rejects.toMatchObject({
    ...{ status: 422, subject: `sampling_params.${name}`, value, expected: `${own}, the run's own` },
  });
  expect(asked).toEqual([]);
});

test("the task's prompt is in what the first action continues, but for white space", async () => {
  const fits = policyOf(" Write\n a. ");
  await fits.sample("system: Wri te a.");
  await fits.sample("anything");
  const other = policyOf("Write a.");
  const refused = other.sample("x".repeat(120));
  await expect(refused).rejects.toMatchObject({ status: 422, subject: "token_ids", value: "x".repeat(100) });
  // It is asked again, and still the first one.
  await expect(other.sample("other")).rejects.toMatchObject({ status: 422 });
  for (const prompt of ["", "  ", 5, undefined, null]) await policyOf(prompt).sample("anything");
});
