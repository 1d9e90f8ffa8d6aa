import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import "../extensions/check/check.ts";
import "../extensions/evals/promptfoo.ts";
import "../extensions/evals/scorers.ts";
import "../extensions/remote/remote.ts";
import "../extensions/remote/server/serve-environment.ts";
import "../research/tinker-server/server.ts";
import { doorSheets } from "../src/core/door.ts";
import "../extensions/inference/server.ts";
import "../src/sdk/evaluate.ts";
import "../extensions/agents/evaluate-agent.ts";
import "../extensions/tools/ai-sdk.ts";
import "../extensions/tools/mcp/mcp.ts";
import "../extensions/tools/search/search.ts";
import "../src/training/config/settings.ts";
import "../src/training/supervised/conversations.ts";
import "../src/training/supervised/lessons.ts";

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

test("the list of doors, with what each uses, ignores and refuses", async () => {
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
  await expect(`${texts.sort().join("\n")}\n`).toMatchFileSnapshot("golden/doors.txt");
  expect(new Set(doors.map(({ name }) => name)).size).toBeGreaterThan(130);
  for (const name of [
    "a conversation",
    "a request of chat completions",
    "a configuration of promptfoo",
    "evaluateAgent",
    "an observation of OpenEnv",
    "a tool's output of ORS",
    "a step of NeMo Gym",
    "a reward of verifiers",
    "asample",
    "a configuration",
    "a server that connectMcp starts",
    ...["defineTool", "searchTool", "checkEnvironment", "serveEnvironment"],
    "an assistant's own message",
  ])
    expect(doors.map((door) => door.name)).toContain(name);
});

/** Objects that stay open, and why. */
const open: Readonly<Record<string, string>> = {
  "extensions/local/model/":
    "models' folders: configurations of published models have fields of many programs; those that change the arithmetic are refused there",
  "src/chat/": "models' tokenizers, as above; and calls that models write",
  "src/actions/": "calls that models write: what is unknown is an argument",
  "extensions/tools/python/": "lines of our own program",
  "extensions/inference/parsed-request.ts": "requests: unknown fields are refused where their settings of sampling are sorted",
  "extensions/inference/gemini-schema.ts": "a schema's own words",
  "extensions/inference/generate-content.ts": "settings that are handed on, and safety settings of which each is",
  "src/completions/": "answers of services for completions, whose fields differ; what has a meaning is asked for",
  "extensions/judge/": "answers that judges write, and files of our own",
  "src/rollouts/": "what an environment returns: episodes are instances with state of their own",
  "extensions/office/": "answers of the office's own tools",
  "extensions/formats/conversations/": "messages that a closed door reads behind it, and rows that are refused",
  "src/training/evaluation/": "files of our own",
  "src/training/config/config-file.ts": "a module's exports beside its default, which may be anything",
  "src/runs/": "files of our own",
  "extensions/inspect/": "files of our own",
  "src/hub/": "lists of files",
  "src/cli/": "our own package.json",
  "src/core/": "a part of an option that chooses among them; and doors",
  "extensions/local/machine/native/packaged.ts": "package.json of onnxruntime-node, of which the version is read",
  "extensions/agents/taught-plan.ts": "a file of our own, of which one number is read",
  "extensions/agents/tasks.ts": "every field of a task is handed to the agent and its reward",
  "extensions/tools/ai-sdk.ts": "schemas and outputs of the AI SDK",
  "extensions/evals/promptfoo.ts": "promptfoo's own results, and messages that are sent as they are",
  "extensions/tinker/client/":
    "answers of Tinker servers, which rightly add fields, as the SDK allows: none is an observation, a loss or a request",
  "extensions/tinker/engine/": "files of our own",
  "extensions/remote/openenv/wire.ts": "a schema's own words, which the model is shown whole; errors, whose details are text",
  "extensions/remote/nemo-gym/gymnasium.ts": "infos, which are the environment's own",
  "extensions/remote/nemo-gym/nemo-gym.ts": "verdicts: every number beside the reward is a score",
  "extensions/remote/verifiers/":
    "nodes, errors and heads, which have tokens and times beside their messages; rewards and messages are closed",
  "extensions/dashboard/": "addresses of pages",
  "extensions/serve/": "flags, which the command line closes",
};

/** `z.object(` and `z.looseObject(`, over lines too. The parameters of a tool of ours are its schema, and examples are comments. */
const opened = /(?<!parameters: )\bz\s*\.(?:object|looseObject)\(/;
const isOpen = (text: string) => opened.test(text.replace(/^\s*(?:\/\/|\/?\*).*$/gm, ""));

test("no other object is open: what it does not name would be dropped in silence", () => {
  const root = join(import.meta.dirname, "..");
  const files = ["src", "extensions"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !/\.(?:test|fixture)\.ts$/.test(name))
      .map((name) => join(folder, name).replaceAll("\\", "/")),
  );
  const loose = files.filter((file) => isOpen(readFileSync(join(root, file), "utf8")));
  const places = Object.keys(open);
  expect(loose.filter((file) => !places.some((place) => file.startsWith(place)))).toEqual([]);
  expect(places.filter((place) => !loose.some((file) => file.startsWith(place)))).toEqual([]);
});

const assistant = { role: "assistant", content: "" };
test.each([
  ["an observation of OpenEnv", "truncated", true],
  ["a tool of ORS", "hidden", true],
  ["a new session of NeMo Gym", "obs", []],
  ["responses_create_params of a row of NeMo Gym", "tool_choice", "required"],
  ["what a reset in OpenEnv asks of us", "difficulty", 3],
  ["a session asked of us in ORS", "secrets", { key: "x" }],
  ["defineTool", "timeout", 5],
  ["a server that connectMcp reaches", "header", {}],
  ["an assistant's own message", "tool_calls", [assistant]],
])("%s refuses %s, which would be dropped", (name, field, value) => {
  expect(doors.find((door) => door.name === name)?.refuses(field, value)).toBe(true);
});
