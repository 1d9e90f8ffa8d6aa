import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { calculate } from "./formula.ts";
import { grade, graderSchema } from "./graders.ts";
import { openAiRft } from "./job.ts";
import { similarities } from "./similarity.ts";
import { render } from "./template.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-rft-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const golden = z
  .object({ rows: z.array(z.looseObject({ input: z.string(), reference: z.string() })) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, "../../../test/golden/text-similarity/similarity.json"), "utf8")));

test.each(Object.keys(similarities))("%s is the number of the published package", (name) => {
  for (const { input, reference, ...values } of golden.rows)
    expect(similarities[name](input, reference)).toBeCloseTo(Number(values[name]), 12);
});

const seen = {
  sample: { output_text: "Friday 14:30", output_json: { at: [1, 2] } },
  item: { answer: "14:30", kinds: ["a", { b: 3 }] },
};
const check = (operation: string, input = "{{sample.output_text}}", reference = "{{ item.answer }}") =>
  graderSchema.parse({ type: "string_check", name: "check", input, reference, operation });

test("templates reach fields of the item and of the answer; a name that is not there is named", () => {
  expect(render("{{ item.kinds[1].b }} {{sample.output_json.at[0]}} {{item.kinds}}", seen)).toBe('3 1 ["a",{"b":3}]');
  expect(() => render("{{ item.other }}", seen)).toThrow(/item\.other.*answer, kinds/s);
});

test.each([
  ["eq", 0],
  ["ne", 1],
  ["like", 1],
  ["ilike", 1],
])("string_check %s", async (operation, expected) => {
  expect(await grade(check(operation), seen)).toEqual({ reward: expected });
});

test("string_check distinguishes capitals in like alone", async () => {
  expect((await grade(check("like", "PARIS", "paris"), seen)).reward).toBe(0);
  expect((await grade(check("ilike", "PARIS", "paris"), seen)).reward).toBe(1);
});

test("multi computes its formula over its graders, and gives their scores", async () => {
  const grader = graderSchema.parse({
    type: "multi",
    graders: { exact: check("eq"), has: check("like") },
    calculate_output: "max(exact, 0.5 * has) - (2 - 1.5)^2",
  });
  expect(await grade(grader, seen)).toEqual({ reward: 0.25, scores: { exact: 0, has: 1 } });
});

test("formulas have the values of arithmetic, and what is none is refused", () => {
  const number = fc.integer({ min: -9, max: 9 }).map(Number);
  fc.assert(
    fc.property(number, number, number, (a, b, c) => {
      expect(calculate("a + b * c - -a", { a, b, c })).toBe(a + b * c + a);
      expect(calculate("(a + b) * c ^ 2", { a, b, c })).toBe((a + b) * c ** 2);
      expect(calculate("min(a, b, c) + abs(-c)", { a, b, c })).toBe(Math.min(a, b, c) + Math.abs(c));
    }),
  );
  expect(calculate("2 ^ 3 ^ 0 - 4 / 2 / 2", {})).toBe(1);
  for (const wrong of ["a +", "b", "constructor", "a a", "min(a", "a; a", ""])
    expect(() => calculate(wrong, { a: 1 })).toThrow("formula");
});

test("a metric that needs a word list or a model, and a grader of another type, are refused by name", () => {
  const similarity = { type: "text_similarity", input: "a", reference: "b", evaluation_metric: "cosine" };
  expect(() => graderSchema.parse(similarity)).toThrow(/fuzzy_match, gleu, bleu.*meteor needs WordNet, and cosine/s);
  expect(() => graderSchema.parse({ type: "label_model" })).toThrow();
});

const job = join(folder, "job.json");
const data = join(folder, "train.jsonl");
const rows = ["14:30", "16:00"].map((answer) => ({ messages: [{ role: "user", content: `Say ${answer}` }], answer }));

test("a job or a row that cannot be used is named by its place", () => {
  writeFileSync(job, JSON.stringify({ method: { type: "reinforcement", reinforcement: { grader: check("eq") } } }));
  writeFileSync(data, `${JSON.stringify(rows[0])}\n{"answer": 1}\n`);
  expect(() => openAiRft(job, data)).toThrow("train.jsonl:2");
  writeFileSync(job, JSON.stringify({ method: { type: "supervised" } }));
  expect(() => openAiRft(job, data)).toThrow(/job\.json.*reinforcement/s);
});
