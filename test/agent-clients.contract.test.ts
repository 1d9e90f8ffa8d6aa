import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { type Interception, interceptModels, type OwnAccess } from "../extensions/agents/intercept.ts";
import { echoServer } from "./echo-server.ts";

/** HTTP clients and what episodes share, of the published packages. `.ci/agent-sdks` installs them. */
const sdks = process.env.RETROGRADE_AGENT_SDKS;

type Ask = (prompt: string, access: OwnAccess) => Promise<string>;
const load = async (): Promise<Readonly<Record<"clients" | "shared", Readonly<Record<string, Ask>>>>> => {
  if (sdks === undefined) return { clients: {}, shared: {} };
  const file = join(sdks, "clients", "clients.mjs");
  copyFileSync(join(import.meta.dirname, "agent-sdks/clients.mjs"), file);
  return import(/* @vite-ignore */ pathToFileURL(file).href);
};

/** Eight episodes at once of three calls each. @returns each one's error, and the texts that reached its key */
async function played(ask: Ask, concurrency = 8) {
  const server = await echoServer();
  const interception = await interceptModels();
  const prompts = Array.from({ length: 8 }, (_, i) => `question number ${i + 1}`);
  const results: { prompt: string; error: string | undefined; answers: string[]; asked: readonly string[] }[] = [];
  const waiting = [...prompts.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results.push(await episode(interception, server, next[1], next[0], ask));
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  await interception.end();
  await server.close();
  return results;
}

async function episode(
  interception: Interception,
  server: Awaited<ReturnType<typeof echoServer>>,
  prompt: string,
  i: number,
  ask: Ask,
) {
  const answers: string[] = [];
  const target = { baseUrl: server.baseUrl, apiKey: `key-${i}`, name: "retrograde" };
  const { signal } = new AbortController();
  let error: string | undefined;
  try {
    await interception.during({ prompt, target, signal, mustAsk: true }, async (access) => {
      for (const step of ["plan", "work", "answer"]) answers.push(await ask(`${step}: ${prompt}`, access));
    });
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  return { prompt, error, answers, asked: server.asked(`key-${i}`) };
}

describe.skipIf(sdks === undefined)("clients of published packages (RETROGRADE_AGENT_SDKS)", async () => {
  const { clients, shared } = await load();
  test.each(Object.entries(clients))("%s: every call is its episode's own", async (_, ask) => {
    for (const { prompt, error, asked } of await played(ask)) {
      expect(error).toBeUndefined();
      expect(asked).toEqual(["plan", "work", "answer"].map((step) => expect.stringContaining(`${step}: ${prompt}`)));
    }
  });

  // Refused where the context is lost; never a turn in the wrong episode that counts.
  const refused = [
    "p-queue",
    "bottleneck",
    "fastq",
    "undici pool of one connection",
    "dataloader",
    "worker that polls",
    "worker thread",
    "a client that keeps the first episode's key",
  ];
  test.each(Object.entries(shared))("%s: no episode that counts has another's turn", async (name, ask) => {
    const results = await played(ask);
    for (const { prompt, error, asked } of results.filter((each) => each.error === undefined)) {
      expect(error).toBeUndefined();
      expect(asked.map((text) => text.replace(/^\w+: /, ""))).toEqual([prompt, prompt, prompt]);
    }
    const errors = results.flatMap(({ error }) => error ?? []);
    if (!refused.includes(name)) expect(errors).toEqual([]);
    else {
      expect(errors.length).toBeGreaterThan(0);
      for (const error of errors)
        expect(error).toMatch(/queue, pool, batcher, listener or worker.*Ways out: give the client the `apiKey`/s);
    }
  });

  test.each(["p-queue", "dataloader", "worker that polls", "worker thread"])(
    "%s, one agent at a time: all are right",
    async (name) => {
      for (const { prompt, error, asked } of await played(shared[name], 1)) {
        expect(error).toBeUndefined();
        expect(asked.map((text) => text.replace(/^\w+: /, ""))).toEqual([prompt, prompt, prompt]);
      }
    },
  );
});
