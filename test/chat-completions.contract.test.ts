import "./office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunningInference } from "../extensions/inference/server.ts";
import { startInference } from "../extensions/serve/cli/serve.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { evalCommand } from "../src/cli/commands/eval.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { checkJson } from "../src/tools/check-json.ts";

const folder = fileURLToPath(new URL("../models/office", import.meta.url));
const silent = createScreen({ write: () => true });
let server: RunningInference;
beforeAll(async () => {
  server = await startInference({ inference: true, model: [`office=${folder}`], port: 0, threads: 2 }, silent);
});
afterAll(() => server.close());

interface Answer {
  readonly choices: readonly { readonly finish_reason: string; readonly message: { readonly content: string } }[];
  readonly usage: { readonly prompt_tokens: number };
}

async function ask(body: object) {
  const response = await fetch(`${server.baseUrl}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "office", messages: [{ role: "user", content: "Hello" }], max_tokens: 4, seed: 2, ...body }),
  });
  const json: Answer = JSON.parse(await response.text());
  return { status: response.status, json };
}

async function measured(change: object) {
  const text = { out: "" };
  const out = join(mkdtempSync(join(tmpdir(), "retrograde-endpoint-")), "measured");
  const output = createScreen({ write: (part: string) => (text.out += part) });
  const flags = { env: "office", tasks: "6", temperature: "0", k: "1", json: true, out, ...change };
  expect(await evalCommand(flags, output, silent)).toBe(0);
  const [record] = JSON.parse(text.out).evaluations;
  return record;
}

test("a model measured through our own server is the model measured here, call for call", async () => {
  const here = await measured({ model: folder });
  const there = await measured({ model: "office", endpoint: `${server.baseUrl}/v1` });
  expect(there.usage).toMatchObject({ unreported: 0 });
  for (const name of ["mean", "reward", "toolCalls", "meanTurns", "byKind", "stopReasons"])
    expect(there[name], name).toEqual(here[name]);
  expect(there.usage.completionTokens).toBe(here.sampledTokens);
  expect(here.toolCalls).toBeGreaterThan(5);
});

const shape = (properties: object) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
const schemas = {
  text: shape({ when: { type: "string", maxLength: 20 } }),
  values: shape({ title: { type: "string", maxLength: 20 }, day: { enum: ["Monday", "Friday"] } }),
  number: shape({ n: { type: "number" } }),
  bounded: shape({ n: { type: "number", exclusiveMinimum: -1e300 } }),
  list: shape({ xs: { type: "array", items: { type: "string", maxLength: 8 }, maxItems: 3, uniqueItems: true } }),
};

// Sampled alone, so that the later ones are drafted from the earlier.
test.each(Object.entries(schemas))("answers of the schema %s have it, masked and drafted", async (_, schema) => {
  for (let seed = 1; seed <= 8; seed++) {
    const response_format = { type: "json_schema", json_schema: { name: "answer", schema } };
    const { status, json } = await ask({ response_format, seed, max_tokens: 120 });
    expect(status, JSON.stringify(json)).toBe(200);
    const [choice] = json.choices;
    if (choice?.finish_reason === "length") continue;
    expect(checkJson(schema, JSON.parse(choice?.message.content ?? "")), choice?.message.content).toEqual({ success: true });
  }
});

test("json_object with a schema has it, and a field that nothing reads is refused", async () => {
  const schema = shape({ day: { enum: ["Monday", "Friday"] } });
  const { json } = await ask({ response_format: { type: "json_object", schema }, max_tokens: 40 });
  expect(JSON.parse(json.choices[0]?.message.content ?? "")).toEqual({ day: expect.stringMatching(/^(Monday|Friday)$/) });
  expect(await ask({ response_format: { type: "json_object", shema: schema } })).toMatchObject({ status: 400 });
});

test("answers end as the protocol says: length, a stop string that is left out, a message that continues", async () => {
  const { json } = await ask({});
  expect(json).toMatchObject({
    object: "chat.completion",
    choices: [{ finish_reason: "length" }],
    usage: { completion_tokens: 4 },
  });
  const whole = await ask({ max_tokens: 40, temperature: 0 });
  const text: string = whole.json.choices[0].message.content;
  const stop = text.slice(4, 6);
  const cut = await ask({ max_tokens: 40, temperature: 0, stop: [stop] });
  expect(cut.json.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: text.slice(0, text.indexOf(stop)) } });
  const begun = text.slice(0, 10);
  const messages = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: begun },
  ];
  const continued = await ask({ messages, continue_final_message: true });
  // Behind the message's own beginning: no end of turn, and no new message.
  const more = loadTokenizer(folder).encode(begun).length;
  expect(continued.json.usage.prompt_tokens).toBe(whole.json.usage.prompt_tokens + more);
  const spoken = await ask({ messages });
  expect(spoken.json.usage.prompt_tokens).toBeGreaterThan(continued.json.usage.prompt_tokens);
});

test.each([
  [{ model: "other" }, 404, "model"],
  [{ messages: [] }, 400, "messages"],
  [{ messages: [{ role: "tool", tool_call_id: "x", content: "" }] }, 400, "tool_call_id"],
  [{ frequency_penalty: 1 }, 400, "frequency_penalty"],
  [{ best_of: 2 }, 400, "unknown_parameter"],
  [{ tools: [{ type: "web_search" }] }, 400, "tools.0.type"],
  [{ response_format: { type: "json_schema", json_schema: { schema: { type: "nonsense" } } } }, 400, "schema"],
  [{ messages: [{ role: "user", content: "word ".repeat(3000) }] }, 400, "maximum context length"],
])("%j is refused with %i", async (body, status, said) => {
  const refused = await ask(body);
  expect(refused.status).toBe(status);
  expect(JSON.stringify(refused.json)).toContain(said);
});
