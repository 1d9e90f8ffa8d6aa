import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import "../extensions/evals/promptfoo.ts";
import "../extensions/evals/rft/job.ts";
import "../extensions/evals/scorers.ts";
import { doorSheets } from "../src/core/door.ts";
import "../src/inference/server.ts";
import "../src/sdk/evaluate.ts";
import "../src/sdk/evaluate-agent.ts";
import "../src/tools/ai-sdk.ts";
import "../src/training/supervised/conversations.ts";

const doors = doorSheets();
const known = doors.map((door) => [door.name, door] as const);

test.each(known)("%s refuses a field that it does not list, whatever it says", (_, { uses, ignores, neutral, refuses }) => {
  const listed = [...uses, ...ignores, ...Object.keys(neutral), "__proto__"];
  const strange = fc
    .string({ minLength: 1, unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz_") })
    .filter((field) => !listed.includes(field));
  const said = fc.jsonValue().filter((value) => value !== null);
  fc.assert(
    fc.property(strange, said, (field, value) => refuses(field, value)),
    { numRuns: 30 },
  );
});

test.each(known)("%s takes the fields that it lists as harmless", (_, { ignores, neutral, refuses }) => {
  for (const field of ignores) expect([field, refuses(field, "anything")]).toEqual([field, false]);
  for (const [field, value] of Object.entries(neutral)) {
    expect([field, refuses(field, value)]).toEqual([field, false]);
    expect([field, refuses(field, "another value")]).toEqual([field, true]);
  }
});

test("the list of doors, with what each uses, ignores and refuses", () => {
  const texts = doors.map(({ name, uses, ignores, neutral }) => {
    const only = Object.entries(neutral).map(([field, value]) => `${field} ${JSON.stringify(value)}`);
    const lines = [
      `uses ${uses.join(", ") || "nothing"}`,
      ...(ignores.length === 0 ? [] : [`ignores ${ignores.join(", ")}`]),
      ...(only.length === 0 ? [] : [`ignores these with one value, and refuses them with others: ${only.join(", ")}`]),
      "refuses every other field by name",
    ];
    return `${name}\n${lines.map((line) => `  ${line}`).join("\n")}`;
  });
  process.stdout.write(`${texts.join("\n")}\n`);
  expect(new Set(doors.map(({ name }) => name)).size).toBeGreaterThan(60);
  for (const name of [
    "a conversation",
    "a request of chat completions",
    "a configuration of promptfoo",
    "a job of OpenAI's",
    "evaluateAgent",
  ])
    expect(doors.map((door) => door.name)).toContain(name);
});

/** Objects that stay open, and why. */
const open: Readonly<Record<string, string>> = {
  "src/engines/local/model/":
    "models' folders: configurations of published models have fields of many programs; those that change the arithmetic are refused there",
  "src/chat/": "models' tokenizers, as above; and calls that models write",
  "src/actions/": "calls that models write: what is unknown is an argument",
  "src/tools/search/": "answers of search services",
  "src/inference/asked.ts": "requests: unknown fields are refused where their settings of sampling are sorted",
  "src/inference/gemini-schema.ts": "a schema's own words",
  "src/inference/generate-content.ts": "settings that are handed on, and safety settings of which each is",
  "src/training/supervised/": "messages that a closed door reads behind it, and rows that are refused",
  "src/agents/tasks.ts": "every field of a task is handed to the agent and its reward",
  "extensions/evals/rft/": "every field of a row is handed to the grader",
  "extensions/evals/promptfoo.ts": "promptfoo's own results, and messages that are sent as they are",
  "src/tools/ai-sdk.ts": "schemas and outputs of the AI SDK",
  "extensions/tinker/": "answers of Tinker servers, which rightly add fields; requests are closed",
  "extensions/remote/": "rows and infos that are handed on whole; answers are closed where a field could move a reward",
  "extensions/benchmarks/": "published data, checked by digests",
  "extensions/serve/": "files of our own",
};

test("no other object is open: what it does not name would be dropped in silence", () => {
  const root = join(import.meta.dirname, "..");
  const files = ["src", "extensions"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !/\.(?:test|fixture)\.ts$/.test(name))
      .map((name) => join(folder, name).replaceAll("\\", "/")),
  );
  const loose = files.filter((file) => readFileSync(join(root, file), "utf8").includes("looseObject("));
  const places = Object.keys(open);
  expect(loose.filter((file) => !places.some((place) => file.startsWith(place)))).toEqual([]);
  expect(places.filter((place) => !loose.some((file) => file.startsWith(place)))).toEqual([]);
});
