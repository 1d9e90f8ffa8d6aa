import "../research/install.ts";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { evaluate, rescore, train, trustRun, UntrustedError } from "../entries/index.ts";
import { startDashboard } from "../extensions/dashboard/server/server.ts";
import { wholeRun } from "../extensions/inspect/whole-run.fixture.ts";
import { actsOf } from "../src/core/acts.ts";
import { environmentSchemas } from "../src/environments/registry.ts";
import { writeChecksums } from "../src/runs/checksums.ts";
import { isOwnRecord, writeOwnRecord } from "../src/runs/files.ts";
import { layout } from "../src/runs/layout.ts";
import { readRun } from "../src/runs/read.ts";
import { sealed } from "../src/runs/seal.ts";
import { modelFolder } from "../src/sdk/model.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { settingsSchema } from "../src/training/config/settings.ts";
import { invoke } from "./command-line.ts";

/** A run from somebody else is data: none of its settings acts before it is trusted. */

let folder: string;
let at: string;
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
  response.writeHead(500).end();
});
beforeAll(async () => {
  folder = await wholeRun();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env.MY_CLOUD_TOKEN = "SECRET-1";
});
afterAll(() => {
  server.close();
  delete process.env.MY_CLOUD_TOKEN;
});
beforeEach(() => void asked.splice(0));

/** Leaves of a schema by their paths; "*" is any key of a record, or any element. */
function leavesOf(schema: z.core.$ZodType, path: readonly string[]): (readonly [string, z.core.$ZodType])[] {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, field]) => leavesOf(field, [...path, key]));
  if (schema instanceof z.ZodRecord) return leavesOf(schema.def.valueType, [...path, "*"]);
  if (schema instanceof z.ZodArray) return leavesOf(schema.def.element, [...path, "*"]);
  if (schema instanceof z.ZodUnion) return schema.def.options.flatMap((option) => leavesOf(option, path));
  if (schema instanceof z.ZodLazy) return leavesOf(schema.unwrap() as z.core.$ZodType, path);
  const inner = (schema._zod.def as { innerType?: z.core.$ZodType }).innerType;
  return inner === undefined ? [[path.join("."), schema]] : leavesOf(inner, path);
}
const sections = (): (readonly [string, z.ZodType])[] => [
  ...Object.entries(settingsSchema.shape),
  ...[...environmentSchemas()].flatMap(([name, schema]) =>
    schema === undefined ? [] : [[`environment ${name}`, schema] as const],
  ),
];
const isMarked = (leaf: z.core.$ZodType) => {
  const value = leaf instanceof z.ZodLiteral ? leaf.value : leaf instanceof z.ZodBoolean ? true : "http://x/y";
  return actsOf(leaf, value).length > 0;
};

/** Texts, and values of any form, that play and do not act: what they say is shown, sent to the model, or compared. */
const plays = [
  ...[
    "environment.name",
    "environment.settings.*",
    "chat.template.*",
    "rollout.split",
    "evaluation.split",
    "evaluation.during.split",
  ],
  ...["rewards.*.name", "rewards.*.pattern", "rewards.*.tags.*", "rewards.*.model", "rewards.*.rubric", "rewards.*.reference"],
  "user.model",
  ...["engine.lora.targets.*", "engine.model"],
  ...["evaluation.player.model", "evaluation.player.request.*"],
  ...[
    "deepSearch.summariser.model",
    "deepSearch.summariser.request.*",
    "system",
    "textField",
    "show.*",
    "reset.*",
    "resets.*.*.*",
    "pages.*",
  ],
  ...["environment", "tokenizer", "renderer", "host"],
];

test("each text of a configuration is marked as one that acts, or is known to play", () => {
  const unknown = sections().flatMap(([section, schema]) =>
    leavesOf(schema, [section])
      .filter(([, leaf]) => ["string", "unknown", "any", "custom"].includes(leaf._zod.def.type) && !isMarked(leaf))
      .map(([path]) => path.replace(/^environment [^.]+\./, ""))
      .filter((path) => !plays.includes(path)),
  );
  expect([...new Set(unknown)]).toEqual(["environment conversations"]); // it takes no settings
});

interface Example {
  readonly environment?: { readonly name: string; readonly settings?: Record<string, unknown> };
  readonly [part: string]: unknown;
}
const path = "somewhere/else";
const web = { keyEnv: "MY_CLOUD_TOKEN", folder: path };
const research = (more: object) => ({ name: "deep-research", settings: { data: { test: path }, ...more } });
const summariser = { baseUrl: "http://127.0.0.1:1/v1", model: "m", keyEnv: "MY_CLOUD_TOKEN" };

/** Records with all marked settings among them, and the parts of a configuration that each is in. */
const examples = (): Example[] => [
  { environment: { name: "appworld", settings: { python: join(folder, "helper"), root: folder } } },
  { environment: { name: "appworld", settings: { urls: [at] } } },
  { environment: { name: "bfcl", settings: { data: path, python: join(folder, "helper") } } },
  { environment: { name: "miniwob", settings: { data: path } } },
  { environment: { name: "answers", settings: { data: path } } },
  { environment: { name: "gsm8k", settings: { data: path } } },
  { environment: research({ search: { kind: "serper", ...web } }) },
  {
    environment: {
      name: "deep-research",
      settings: { data: { train: [path], validation: [path], test: [path], challenge: [path] } },
    },
  },
  { environment: research({ search: { kind: "searxng", url: at, folder: path }, recorded: path }) },
  { environment: research({ search: { kind: "local", path }, deepSearch: { summariser, allowLoopback: true } }) },
  { environment: { name: `openenv:${at}`, settings: { keyVariable: "MY_CLOUD_TOKEN" } } },
  { environment: { name: `ors:${at}`, settings: { keyVariable: "MY_CLOUD_TOKEN", secretVariables: { a: "MY_CLOUD_TOKEN" } } } },
  { environment: { name: `nemo-gym:${at}`, settings: { keyVariable: "MY_CLOUD_TOKEN", tasks: { train: path } } } },
  {
    environment: {
      name: "verifiers:tcp://127.0.0.1:1",
      settings: { tasks: { train: path }, tokenizer: "x", listen: "0.0.0.0" },
    },
  },
  { engine: { kind: "local", lora: { from: path } } },
  { engine: { kind: "tinker", url: at, model: "m" } },
  { algorithm: { kind: "sft", data: path } },
  {
    algorithm: {
      kind: "custom",
      advantage: { kind: "distillation", teacher: path },
      update: { kind: "reinforce" },
    },
  },
  { model: path },
  { model: "someone/else" },
  {
    rewards: [{ kind: "environment" }, { kind: "judge", model: "m", baseUrl: at, apiKeyEnv: "MY_CLOUD_TOKEN", cache: path }],
    limits: { judgeCalls: 1 },
  },
];

test("the examples have each marked setting", () => {
  const has = (value: unknown, [key, ...rest]: readonly string[]): boolean => {
    if (key === undefined) return value !== undefined;
    if (typeof value !== "object" || value === null) return false;
    return (key === "*" ? Object.values(value) : [(value as Record<string, unknown>)[key]]).some((each) => has(each, rest));
  };
  const benchmark = new Set(
    [...environmentSchemas()].filter(([, schema]) => schema === environmentSchemas().get("gsm8k")).map(([n]) => n),
  );
  const missing = sections()
    .filter(
      ([section]) =>
        section !== "out" && !(benchmark.has(section.replace("environment ", "")) && section !== "environment gsm8k"),
    )
    .flatMap(([section, schema]) => {
      const own = /^environment (.+)$/.exec(section)?.[1];
      const values = examples().flatMap((each) =>
        own === undefined
          ? [each]
          : each.environment?.name.startsWith(own) || (own === "gsm8k" && each.environment?.name === "deep-research")
            ? [each.environment?.settings]
            : [],
      );
      return leavesOf(schema, own === undefined ? [section] : [])
        .filter(([where, leaf]) => isMarked(leaf) && !values.some((value) => has(value, where.split("."))))
        .map(([where]) => `${section}: ${where}`);
    });
  // A run of a chat endpoint cannot be: it is never trained.
  expect(missing).toEqual(["evaluation: evaluation.player.baseUrl", "evaluation: evaluation.player.apiKeyEnv"]);
});

/** Makes the run another person's, with other settings. @param write what writes the record */
function become(
  example: Example,
  write = (file: string, record: object) => writeFileSync(file, `${sealed(JSON.stringify(record, null, 2))}\n`),
) {
  const { origin: _, ...record } = readRun(folder);
  const { environment, ...rest } = example;
  const config = resolveConfig({ algorithm: "grpo", environment, ...rest } as never);
  write(layout.run(folder), { ...record, config });
  for (const step of [1, 2]) writeChecksums(layout.checkpoint(folder, step), crc32(readFileSync(layout.run(folder))));
}

/** Each command and call that reads a record to use its settings, with the parts that it uses. */
const whole = ["environment", "model", "engine", "algorithm", "rewards"];
const sdk = (call: () => Promise<unknown>) => async () => {
  const error = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { exitCode: error === undefined ? 0 : 1, error: error instanceof UntrustedError ? error.message : String(error) };
};
const users = (): Readonly<Record<string, readonly [readonly string[], () => Promise<{ exitCode: number; error: string }>]>> => ({
  "chat --model": [["environment"], () => invoke("chat", "--model", folder)],
  "doctor --model": [["environment"], () => invoke("doctor", "--model", folder)],
  "advise --model": [["environment"], () => invoke("advise", "--model", folder)],
  "eval --model": [["environment"], () => invoke("eval", "--model", folder)],
  "eval --compare": [["environment"], () => invoke("eval", "--compare", folder, "bundled:office")],
  "eval --compare, second": [["environment"], () => invoke("eval", "--compare", "bundled:office", folder)],
  "trajectory --replay": [["environment"], () => invoke("trajectory", folder, "step-1/0/0", "--replay")],
  rescore: [["environment"], () => invoke("rescore", folder, "--reward", join(folder, "reward.mjs"))],
  "rescore()": [["environment"], sdk(() => rescore(folder, [{ kind: "environment" }]))],
  "runs model": [["model", "engine"], () => invoke("runs", "model", folder, "--out", join(dirname(folder), "written"))],
  "train --model": [["environment"], () => invoke("train", "--model", folder, "--no-dashboard")],
  "train --resume": [whole, () => invoke("train", "--resume", "--out", folder, "--no-dashboard")],
  "sft --model": [["environment"], () => invoke("sft", "--model", folder, "--no-dashboard")],
  "train({ model })": [["environment"], sdk(() => train({ model: folder }))],
  "train({ resume })": [whole, sdk(() => train({ out: folder }, { resume: true }))],
  "evaluate({ model })": [["environment"], sdk(() => evaluate({ model: folder }))],
});

test("no marked setting acts by any command or call that uses a record: each says what it would do, and does nothing", async () => {
  const proof = join(folder, "PROOF");
  writeFileSync(join(folder, "helper"), `#!/bin/sh\nid > ${proof}\n`);
  chmodSync(join(folder, "helper"), 0o755);
  writeFileSync(join(folder, "reward.mjs"), 'export default { kind: "environment" };');
  let refused = 0;
  for (const example of examples()) {
    become(example);
    for (const [name, [parts, use]] of Object.entries(users())) {
      if (!Object.keys(example).some((part) => parts.includes(part))) continue;
      const { exitCode, error } = await use();
      expect(exitCode, name).toBe(1);
      expect(error, `${name} of ${JSON.stringify(example)}`).toContain("not made on this machine by you");
      expect(error).toContain("--trust");
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(200);
  expect([asked, existsSync(proof), existsSync(join(dirname(folder), "written"))]).toEqual([[], false, false]);
  rmSync(join(folder, "helper"));
});

test("what only shows a record asks nothing and does nothing", async () => {
  for (const example of examples()) {
    become(example);
    expect((await invoke("runs", "show", folder)).exitCode).toBe(0);
    expect((await invoke("runs", "--in", dirname(folder))).exitCode).toBe(0);
    expect((await invoke("trajectory", folder, "step-1/0/0")).exitCode).toBe(0);
  }
  const dashboard = await startDashboard({ runs: dirname(folder), port: 0 });
  for (const route of ["runs", "run?run=run", "run/trajectories?run=run"])
    expect((await fetch(`${dashboard.url}api/${route}`)).status).toBe(200);
  await dashboard.close();
  expect(asked).toEqual([]);
});

test("the question says in plain words what the record would do", async () => {
  become({ environment: { name: "appworld", settings: { python: "/x/helper", root: "/x" } } });
  expect((await invoke("chat", "--model", folder)).error).toContain(
    'this one starts the program "/x/helper", runs the model\'s Python code in AppWorld\'s server, which is no sandbox, reads "/x"',
  );
  become({ environment: { name: `ors:${at}`, settings: { keyVariable: "MY_CLOUD_TOKEN" } } });
  expect((await invoke("chat", "--model", folder)).error).toContain(`this one sends $MY_CLOUD_TOKEN to "${at}"`);
});

test("a model that takes weights from elsewhere is asked about, unless this machine wrote the name", async () => {
  const model = join(dirname(folder), "adapted");
  mkdirSync(model);
  writeFileSync(join(model, "config.json"), "{}");
  for (const [name, content] of [
    ["base.json", { model: "/somebody/else", precision: "float32" }],
    ["gguf.json", { parts: ["/somebody/else.gguf"] }],
  ] as const) {
    writeFileSync(join(model, name), JSON.stringify(content));
    await expect(modelFolder({ model, environment: { name: "office" } })).rejects.toThrow(/reads "\/somebody\/else/);
    for (const command of [
      ["export", model, "--to", "hf", "--out", join(dirname(folder), "out")],
      ["serve", "--inference", "--model", model],
      ["chat", "--model", model],
    ])
      expect((await invoke(...command)).error, command.join(" ")).toContain("not made on this machine by you");
    writeOwnRecord(join(model, name), content);
    const own = JSON.parse(readFileSync(join(model, name), "utf8")) as Record<string, unknown>;
    writeFileSync(join(model, name), JSON.stringify({ ...own, crc32: undefined }));
    expect(await modelFolder({ model, environment: { name: "office" } })).toBe(model);
    rmSync(join(model, name));
  }
});

test("a run of this machine is known by a key that only its user reads, and by no other's; a changed setting is another's", () => {
  become({}, writeOwnRecord);
  expect(isOwnRecord(layout.run(folder))).toBe(true);
  const key = join(String(process.env.XDG_CONFIG_HOME), "retrograde", "key");
  if (process.platform !== "win32") expect(statSync(key).mode & 0o777).toBe(0o600);
  const record = JSON.parse(readFileSync(layout.run(folder), "utf8")) as Record<string, unknown>;
  writeFileSync(layout.run(folder), `${sealed(JSON.stringify({ ...record, crc32: undefined, node: "v1" }, null, 2))}\n`);
  expect(isOwnRecord(layout.run(folder))).toBe(false);
  become({}, writeOwnRecord);
  const kept = readFileSync(key);
  writeFileSync(key, "0".repeat(64));
  expect(isOwnRecord(layout.run(folder))).toBe(false);
  writeFileSync(key, kept);
});

test("one's own run asks nothing, and another's acts once it is trusted", async () => {
  const environment = { name: `ors:${at}`, settings: { keyVariable: "MY_CLOUD_TOKEN" } };
  become({ environment }, writeOwnRecord);
  await invoke("train", "--resume", "--out", folder, "--no-dashboard");
  expect(asked.join()).toContain("SECRET-1");
  asked.splice(0);
  become({ environment });
  await expect(train({ out: folder }, { resume: true })).rejects.toThrow(UntrustedError);
  expect(asked).toEqual([]);
  trustRun(folder);
  await expect(train({ out: folder }, { resume: true })).rejects.not.toThrow(UntrustedError);
  expect(asked.join()).toContain("SECRET-1");
});

test("--trust allows it for the command", async () => {
  const other = await wholeRun();
  [folder] = [other];
  become({ environment: { name: `openenv:${at}`, settings: { keyVariable: "MY_CLOUD_TOKEN" } } });
  expect((await invoke("train", "--resume", "--out", folder, "--no-dashboard")).error).toContain(
    "not made on this machine by you",
  );
  const trusted = await invoke("train", "--resume", "--out", folder, "--no-dashboard", "--trust");
  expect(trusted.error).not.toContain("not made on this machine");
  expect(asked.join()).toContain("SECRET-1");
});
