import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentEnvironment } from "../extensions/agents/agent.ts";
import { trainedAgent } from "../extensions/agents/train-agent.ts";
import { engineModel } from "../extensions/inference/engine-model.ts";
import { type RunningInference, serveInference } from "../extensions/inference/server.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import type { Sampler } from "../src/engines/engine.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { scriptedSampler } from "./scripted-sampler.ts";

/** Agents of the published packages against the endpoint: served, and as the episodes of a run. `.ci/agent-sdks` installs them. */
const sdks = process.env.RETROGRADE_AGENT_SDKS;

type Feature = (
  model: { readonly baseUrl: string; readonly apiKey: string; readonly model: string },
  find: (title: string) => unknown,
  isSampling: () => boolean,
) => Promise<string>;
type Framework = () => Promise<Readonly<Record<string, Feature>>>;

const folder = join(import.meta.dirname, "../models/office");
const chat = makeChat(loadTokenizer(folder));
const call = (name: string, args: object) =>
  `<tool_call>\n{"name": "${name}", "arguments": ${JSON.stringify(args)}}\n</tool_call>`;

/** What a good model answers. */
function script(context: string): string | string[] {
  const begins = [...context.matchAll(/<\|(?:system|user|assistant|tool)\|>/g)].map(({ index }) => index);
  const last = context.slice(begins.at(-2));
  const request = context.slice(context.lastIndexOf("<|user|>"));
  // Clients that do not know a model's name may ask for JSON by a tool.
  const found = { day: "Friday", time: "14:30" };
  if (last.startsWith("<|tool|>") && !last.includes('"assistant"'))
    return ["Demo is on Friday at 14:30, as you asked.", JSON.stringify(found), call("json", found)];
  if (last.startsWith("<|tool|>")) return call("find_event", { title: "Demo" });
  if (/triage/.test(context)) return call("transfer_to_Calendar", {});
  if (/JSON/.test(request)) return [JSON.stringify(found), call("json", found)];
  const titles = /Fair/.test(request) ? ["Demo", "Fair"] : ["Demo"];
  return titles.map((title) => call("find_event", { title })).join("\n");
}

const expected: Readonly<Record<string, RegExp>> = {
  generate: /at 14:30/,
  stream: /at 14:30/,
  deltas: /^(?:[3-9]|\d\d+) parts$/,
  schema: /^Friday 14:30$/,
  typed: /^Friday 14:30$/,
  forced: /^find_event$/,
  responses: /at 14:30/,
  anthropic: /at 14:30/,
  gemini: /at 14:30/,
  handoffs: /at 14:30/,
  parallel: /at 14:30/,
};

const examples = join(import.meta.dirname, "../examples/agents");
const page = join(examples, "README.md");
const features = [
  "generate",
  "stream",
  "deltas",
  "schema",
  "typed",
  "forced",
  "responses",
  "anthropic",
  "gemini",
  "handoffs",
  "parallel",
] as const;
const headings = [
  "generate",
  "stream",
  "deltas of calls",
  "schema",
  "schema after tools",
  "forced tool",
  "Responses",
  "Anthropic",
  "Gemini",
  "hand-offs",
  "parallel calls",
];

/** The table of examples/agents/README.md. */
function tableOf(passed: ReadonlyMap<string, ReadonlySet<string>>): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rows = [...passed].map(([name, has]) => row([`\`${name}\``, ...features.map((each) => (has.has(each) ? "yes" : "–"))]));
  return [row(["package", ...headings]), row(["---", ...headings.map(() => "---")]), ...rows].join("\n");
}

const files = readdirSync(examples).filter((name) => /\.(?:ts|py)$/.test(name));

describe.skipIf(sdks === undefined)("the agents of examples/agents", () => {
  beforeAll(() => copyFileSync(join(examples, "calendar-server.mjs"), join(sdks ?? "", "calendar-server.mjs")));
  test.each(files)("%s", async (name) => {
    const file = join(sdks ?? "", `example-${name}`);
    copyFileSync(join(examples, name), file);
    const code = readFileSync(file, "utf8");
    expect(code.split("\n").length).toBeLessThan(60);
    const environment = trainedAgent({
      agent: name.endsWith(".py") ? { command: ["python3", file] } : file,
      tasks: { train: [{ prompt: "When do I have Demo?" }], test: [] },
      reward: ({ answer }) => Number(/14:30/.test(String(answer))),
    });
    await environment.open?.();
    const identity = { id: "0/0", group: "0", seed: 1, maxTurns: 8, maxTokens: 128, episodeTimeoutMs: 30_000 };
    const sampler = scriptedSampler(chat.tokenizer, script);
    const played = await rollout(sampler, chat, environment, await environment.task("train", 0), identity);
    await environment.close?.();
    expect(played.error).toBeUndefined();
    expect(played).toMatchObject({ reward: 1, stopReason: "done", scores: { "agent.refused": 0 } });
    expect(played.turns.length).toBeGreaterThanOrEqual(/JSON/.test(code) && !/find_event/.test(code) ? 1 : 2);
  });
});

describe.skipIf(sdks === undefined)("agents of published packages (RETROGRADE_AGENT_SDKS)", async () => {
  const load = async (
    folder: string,
  ): Promise<Readonly<Record<"frameworks" | "previous", Readonly<Record<string, Framework>>>>> => {
    const file = join(folder, "agents.mjs");
    copyFileSync(join(import.meta.dirname, "agent-sdks/agents.mjs"), file);
    return import(/* @vite-ignore */ pathToFileURL(file).href);
  };
  const frameworks =
    sdks === undefined ? {} : { ...(await load(sdks)).frameworks, ...(await load(join(sdks, "previous"))).previous };
  const quick = scriptedSampler(chat.tokenizer, script);
  // Where parts are counted: slow enough that a client sees one before the next is drawn.
  const slow = scriptedSampler(chat.tokenizer, script, 3);
  let speaking = quick;
  let sampling = 0;
  const isSampling = () => sampling > 0;
  const sampler: Sampler = {
    ...quick,
    sample: async (request) => {
      sampling++;
      return speaking.sample(request).finally(() => sampling--);
    },
  };
  let server: RunningInference;
  beforeAll(async () => {
    const models = new Map([["local", engineModel(sampler, chat)]]);
    server = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models });
  });
  const passed = new Map<string, Set<string>>();
  afterAll(async () => {
    await server?.close();
    // `UPDATE=1` writes the table.
    if (sdks === undefined) return;
    const text = readFileSync(page, "utf8");
    const table = text.replace(/<!-- agents -->[\s\S]*$/, `<!-- agents -->\n\n${tableOf(passed)}\n`);
    if (process.env.UPDATE) writeFileSync(page, table);
    else expect(text).toBe(table);
  });

  describe.each(Object.entries(frameworks))("%s", async (name, open) => {
    const has = await open();
    const done = new Set<string>();
    passed.set(name, done);
    test.each(Object.keys(has))("%s", async (feature) => {
      speaking = feature === "deltas" ? slow : quick;
      const titles: string[] = [];
      const find = (title: string) => {
        titles.push(title);
        return [{ id: "e10", day: "Friday", time: "14:30" }];
      };
      const isCalled = !["schema", "forced", "deltas"].includes(feature);
      const wanted = isCalled ? (feature === "parallel" ? ["Demo", "Fair"] : ["Demo"]) : [];
      const text = await has[feature]({ baseUrl: `${server.baseUrl}/v1`, apiKey: "none", model: "local" }, find, isSampling);
      expect(text).toMatch(expected[feature]);
      if (isCalled) expect([...titles].sort()).toEqual(wanted);

      const environment = agentEnvironment({
        name,
        tasks: { train: [{ prompt: feature }] },
        run: async (_, { baseUrl, apiKey, name: model }) =>
          Number(expected[feature].test(await has[feature]({ baseUrl, apiKey, model }, find, isSampling))),
      });
      await environment.open?.();
      const identity = { id: "0/0", group: "0", seed: 1, maxTurns: 8, maxTokens: 128, episodeTimeoutMs: 30_000 };
      const played = await rollout(sampler, chat, environment, await environment.task("train", 0), identity);
      await environment.close?.();
      expect(played).toMatchObject({ reward: 1, stopReason: "done", scores: { "agent.refused": 0 } });
      expect(played.error).toBeUndefined();
      const { "agent.contexts": contexts, "agent.subagents": subagents } = played.scores;
      if (feature !== "deltas")
        expect({ contexts, subagents }).toEqual({ contexts: 1 + subagents, subagents: Number(feature === "handoffs") });
      // Every later turn continues behind the ids that were sampled. A hand-off has another system message, and so another context; deltas
      // may be looked at in two interfaces.
      for (const [i, turn] of played.turns.entries()) {
        if (i === 0 || ["handoffs", "deltas"].includes(feature)) continue;
        const { context, action } = played.turns[i - 1];
        const before = [...context, ...action];
        expect([...turn.context].slice(0, before.length)).toEqual(before);
      }
      done.add(feature);
    });
  });
});
