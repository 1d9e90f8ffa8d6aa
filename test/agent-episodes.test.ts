import "./loopback.ts";
import http from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
import { type InterceptedEpisode, interceptModels } from "../extensions/agents/intercept.ts";
import { type EchoServer, echoServer } from "./echo-server.ts";

/** Who an episode is, and who owns the state of the process. */

let server: EchoServer;
beforeAll(async () => {
  server = await echoServer();
});
afterAll(() => server.close());

const call = async (content: string, baseUrl = process.env.OPENAI_BASE_URL, key = process.env.OPENAI_API_KEY) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(await response.text());
  const answer = (await response.json()) as { readonly choices: readonly { readonly message: { readonly content: string } }[] };
  return String(answer.choices[0]?.message.content);
};
let keys = 0;
const episode = (prompt: string, signal = new AbortController().signal): InterceptedEpisode => ({
  ...{ prompt, signal, mustAsk: true },
  target: { baseUrl: server.baseUrl, apiKey: `key-${keys++}`, name: "retrograde" },
});
const process_ = () => ({
  fetch: globalThis.fetch,
  url: process.env.OPENAI_BASE_URL,
  key: process.env.OPENAI_API_KEY,
  provider: (globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown }).AI_SDK_DEFAULT_PROVIDER,
  addRequest: (http.Agent.prototype as unknown as { addRequest: unknown }).addRequest,
});

/** Runs two jobs at a time, each in the context of the job before it. */
function sharedQueue() {
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;
  const next = (): void => {
    const job = running < 2 ? waiting.shift() : undefined;
    if (job === undefined) return;
    running++;
    void job().finally(() => {
      running--;
      next();
    });
  };
  return <T>(work: () => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      waiting.push(() => work().then(resolve, reject));
      next();
    });
}

test("a client waits for the model as long as the gateway does, whatever undici's own limit of silence is", async () => {
  await fetch("data:,"); // Node makes its dispatcher with the first request
  const undici = globalThis as unknown as Record<symbol, { constructor: new (limits: object) => { constructor: never } }>;
  const at = Symbol.for("undici.globalDispatcher.1");
  const dispatcher = undici[at];
  const slow = await echoServer(undefined, 2500);
  undici[at] = new dispatcher.constructor({ headersTimeout: 100, bodyTimeout: 100 });
  const interception = await interceptModels();
  try {
    await expect(fetch(`${slow.baseUrl}/chat/completions`, { method: "POST", body: '{"messages":[{}]}' })).rejects.toThrow();
    const asked = { ...episode("a slow question"), target: { baseUrl: slow.baseUrl, apiKey: "slow", name: "retrograde" } };
    expect(await interception.during(asked, () => call("a slow question"))).toContain("a slow question");
  } finally {
    undici[at] = dispatcher;
    await interception.end();
    await slow.close();
  }
});

test("a queue of the module: another's call is refused with the cause, and its context's episode is not counted either", async () => {
  const interception = await interceptModels();
  const add = sharedQueue();
  const prompts = Array.from({ length: 6 }, (_, i) => `question number ${i + 1}`);
  const played = prompts.map((prompt) => interception.during(episode(prompt), () => add(() => call(`work: ${prompt}`))));
  const settled = await Promise.allSettled(played);
  for (const [i, result] of settled.entries()) {
    if (result.status === "fulfilled") expect(result.value).toContain(prompts[i]);
    else
      expect(result.reason.message).toMatch(
        /A queue, pool, batcher.*Ways out: give the client the `apiKey`.*AsyncResource\.bind/s,
      );
  }
  expect(settled.filter(({ status }) => status === "rejected").length).toBeGreaterThanOrEqual(3);
  // A key of the request's own wins over the context.
  const own = prompts.map((prompt) =>
    interception.during(episode(prompt), ({ baseUrl, apiKey }) => add(() => call(`work: ${prompt}`, baseUrl, apiKey))),
  );
  expect(await Promise.all(own)).toEqual(prompts.map((prompt) => expect.stringContaining(`work: ${prompt}`)));
  await interception.end();
});

test("a call in the context, or with the key, of an ended episode is refused; what is left behind is no worker", async () => {
  const interception = await interceptModels();
  let late = (): Promise<string> => Promise.resolve("");
  let kept = "";
  await interception.during(episode("the first question"), async ({ apiKey }) => {
    kept = apiKey;
    const go = new Promise<void>((resolve) => {
      late = async () => {
        resolve();
        return after;
      };
    });
    const after = go.then(() => call("the first question, again")).catch((error: Error) => error.message);
    return call("the first question");
  });
  expect(await late()).toContain("in the context of one that has ended");
  const second = interception.during(episode("the second question"), ({ baseUrl }) => call("the second question", baseUrl, kept));
  await expect(second).rejects.toThrow("its key is of an episode that has ended: is a client made once, and kept?");

  // Outside of every context: the one that runs, as long as none was left behind.
  const outside = new Promise<(content: string) => Promise<string>>((resolve) => resolve(call));
  const ask = await outside;
  let answer: Promise<string> | undefined;
  const worker = setInterval(() => {
    answer ??= ask("a job without a name");
  });
  const waits = async () => {
    while (answer === undefined) await new Promise((go) => setTimeout(go, 1));
    return answer;
  };
  expect(await interception.during(episode("the third question"), waits)).toContain("a job without a name");
  const stop = new AbortController();
  const hung = interception.during(episode("the fourth question", stop.signal), () => new Promise<string>(() => {}));
  hung.catch(() => {});
  stop.abort();
  answer = undefined;
  await expect(interception.during(episode("the fifth question"), waits)).rejects.toThrow("it was made outside of any");
  clearInterval(worker);
  await interception.end();
});

test("an agent that asks another server is named, and so is one whose module sets the address", async () => {
  const interception = await interceptModels();
  const elsewhere = interception.during(episode("a question"), () => call("a question", server.baseUrl, "its own"));
  await expect(elsewhere).rejects.toThrow(
    new RegExp(`${new URL(server.baseUrl).origin}.*The agent asked that server instead`, "s"),
  );
  const changed = interception.during(episode("a question"), async () => {
    process.env.OPENAI_BASE_URL = "http://127.0.0.1:9/v1";
    return "never asked";
  });
  await expect(changed).rejects.toThrow("OPENAI_BASE_URL was set to another address since");
  await interception.end();
});

test.each<[string, string, boolean]>([
  ["POST", "/v1/chat/completions", true],
  ["POST", "/v1/responses", true],
  ["post", "/v1/messages", true],
  ["POST", "/v1beta/models/gemini-2:generateContent", true],
  ["POST", "/v1beta/models/gemini-2:streamGenerateContent", true],
  ["POST", "/v1beta/models/:generateContent", false],
  ["POST", "/v1/messages/batches", false],
  ["POST", "/v1/embeddings", false],
  ["GET", "/v1/responses", false],
])("%s %s of another server is a model call of the episode: %s", async (method, path, isCall) => {
  const { fetch } = globalThis;
  globalThis.fetch = async () => new Response();
  const interception = await interceptModels();
  try {
    const asked = interception.during({ ...episode("a question"), mustAsk: false }, async () => {
      await globalThis.fetch(`https://elsewhere.example${path}`, { method });
      return "asked";
    });
    if (isCall) await expect(asked).rejects.toThrow(`an agent's model is "https://elsewhere.example"`);
    else expect(await asked).toBe("asked");
  } finally {
    globalThis.fetch = fetch;
    await interception.end();
  }
});

test("a fetch has its episode's key before it waits for a place in a pool; one to another server has none", async () => {
  const { fetch } = globalThis;
  const asked: (string | null)[][] = [];
  globalThis.fetch = async (input, init) => {
    const isAddress = input instanceof Request || URL.canParse(String(input));
    const { url, headers } = new Request(isAddress ? input : "http://none", init);
    asked.push([url, headers.get("x-retrograde-episode"), headers.get("x-own")]);
    return new Response();
  };
  const interception = await interceptModels();
  try {
    const headers = { "x-own": "kept" };
    const silent = { ...episode("a question"), mustAsk: false };
    const { baseUrl, apiKey } = await interception.during(silent, async (own) => {
      await globalThis.fetch(`${own.baseUrl}/chat/completions`, { headers });
      await globalThis.fetch(new Request(`${own.baseUrl}/responses`, { method: "POST", headers }), {});
      await globalThis.fetch("https://elsewhere.example/v1/models", { headers });
      await globalThis.fetch("no address", { headers });
      return own;
    });
    expect(asked).toEqual([
      [`${baseUrl}/chat/completions`, apiKey, "kept"],
      [`${baseUrl}/responses`, apiKey, "kept"],
      ["https://elsewhere.example/v1/models", null, "kept"],
      ["http://none/", null, "kept"],
    ]);
  } finally {
    globalThis.fetch = fetch;
    await interception.end();
  }
});

test("the process is changed once, whoever uses it, and put back with the last", async () => {
  const before = process_();
  const [one, two] = await Promise.all([interceptModels(), interceptModels()]);
  const during = process_();
  expect(during.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  await one.end();
  await one.end(); // twice is once
  expect(process_()).toEqual(during);
  await two.end();
  expect(process_()).toEqual(before);
  // A client that a module made in the first run is right in the next.
  const next = await interceptModels();
  const answer = next.during(episode("a later question"), () => call("a later question", during.url, during.key));
  expect(await answer).toContain("a later question");
  await next.end();
});

test("what the process had is put back, and another's wrapper around ours stays", async () => {
  const global = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown };
  const { fetch } = globalThis;
  const own = { OPENAI_MODEL: process.env.OPENAI_MODEL, tracing: process.env.OPENAI_AGENTS_DISABLE_TRACING };
  const provider = { own: true };
  process.env.OPENAI_MODEL = "mine";
  global.AI_SDK_DEFAULT_PROVIDER = provider;
  try {
    const one = await interceptModels();
    expect([process.env.OPENAI_MODEL, process.env.OPENAI_AGENTS_DISABLE_TRACING]).toEqual(["retrograde", "1"]);
    expect(global.AI_SDK_DEFAULT_PROVIDER).not.toBe(provider);
    await one.end();
    expect([process.env.OPENAI_MODEL, process.env.OPENAI_AGENTS_DISABLE_TRACING]).toEqual(["mine", own.tracing]);
    expect(global.AI_SDK_DEFAULT_PROVIDER).toBe(provider);
    const two = await interceptModels();
    const ours = globalThis.fetch;
    const wrapper: typeof fetch = (...given) => ours(...given);
    globalThis.fetch = wrapper;
    await two.end();
    expect(globalThis.fetch).toBe(wrapper);
  } finally {
    globalThis.fetch = fetch;
    delete global.AI_SDK_DEFAULT_PROVIDER;
    if (own.OPENAI_MODEL === undefined) delete process.env.OPENAI_MODEL;
    else process.env.OPENAI_MODEL = own.OPENAI_MODEL;
  }
});

test("two evaluations at once have each its own model, whose name agents know by a constant one", async () => {
  const models = await Promise.all(["good", "bad"].map((word) => echoServer(word)));
  const tasks = Array.from({ length: 8 }, (_, n) => ({ prompt: `question ${n}` }));
  const before = process_();
  const both = await Promise.all(
    models.map(({ baseUrl }) =>
      evaluateAgent({
        agent: (prompt: string) => call(prompt),
        tasks,
        reward: ({ answer }) => Number(answer === "good"),
        endpoint: { baseUrl, apiKey: "none" },
      }),
    ),
  );
  expect(both.map(({ success }) => success.mean)).toEqual([1, 0]);
  expect(process_()).toEqual(before);
  // An agent with its own model reads the same variables.
  const interception = await interceptModels();
  const own = () => evaluateAgent({ agent: async () => "good", tasks, reward: () => 1 });
  await expect(own()).rejects.toThrow("no training or evaluation with an endpoint at the same time");
  await interception.end();
  expect((await own()).success.mean).toBe(1);
  await Promise.all(models.map((model) => model.close()));
});
