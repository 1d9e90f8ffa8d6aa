// Agents that reach their model by the customary variables alone: through HTTP clients other than `fetch`, and through what episodes share.
// Copied into the folder of packages that .ci/agent-sdks makes.
import { EventEmitter } from "node:events";
import http from "node:http";
import { Worker } from "node:worker_threads";
import Instructor from "@instructor-ai/instructor";
import axios from "axios";
import Bottleneck from "bottleneck";
import DataLoader from "dataloader";
import fastq from "fastq";
import genericPool from "generic-pool";
import got from "got";
import ky from "ky";
import needle from "needle";
import nodeFetch from "node-fetch";
import OpenAI from "openai";
import pLimit from "p-limit";
import PQueue from "p-queue";
import superagent from "superagent";
import { Agent, Pool, request, fetch as undiciFetch } from "undici";
import { z } from "zod";

const url = () => `${process.env.OPENAI_BASE_URL}/chat/completions`;
const headers = () => ({ authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "content-type": "application/json" });
const body = (content) => JSON.stringify({ model: "gpt-5-mini", messages: [{ role: "user", content }] });
const textOf = (answer) => {
  if (answer.choices === undefined) throw new Error(JSON.stringify(answer));
  return answer.choices[0].message.content;
};
const byFetch = async (content) =>
  textOf(await (await fetch(url(), { method: "POST", headers: headers(), body: body(content) })).json());
const byHttp = (content) =>
  new Promise((resolve, reject) => {
    const asked = http.request(url(), { method: "POST", headers: headers() }, async (response) => {
      let text = "";
      for await (const part of response) text += part;
      try {
        resolve(textOf(JSON.parse(text)));
      } catch (error) {
        reject(error);
      }
    });
    asked.on("error", reject).end(body(content));
  });

/** Made once, as modules do. */
let openai;
let pool;
const keptAlive = new http.Agent({ keepAlive: true, maxSockets: 1 });

export const clients = {
  "openai 4": async (prompt) => {
    openai ??= new OpenAI({ maxRetries: 0 });
    const messages = [{ role: "user", content: prompt }];
    return (await openai.chat.completions.create({ model: "gpt-5-mini", messages })).choices[0].message.content;
  },
  "@instructor-ai/instructor, openai 4": async (prompt) => {
    const client = Instructor({ client: new OpenAI({ maxRetries: 0 }), mode: "MD_JSON" });
    const response_model = { schema: z.object({ said: z.string() }), name: "Said" };
    const messages = [{ role: "user", content: prompt }];
    return (await client.chat.completions.create({ model: "gpt-5-mini", messages, max_retries: 0, response_model })).said;
  },
  "node:http": byHttp,
  "node:http, one kept socket": (prompt) =>
    new Promise((resolve, reject) => {
      const options = { method: "POST", headers: headers(), agent: keptAlive };
      const asked = http.request(url(), options, async (response) => {
        let text = "";
        for await (const part of response) text += part;
        resolve(textOf(JSON.parse(text)));
      });
      asked.on("error", reject).end(body(prompt));
    }),
  axios: async (prompt) => textOf((await axios.post(url(), body(prompt), { headers: headers() })).data),
  got: async (prompt) => textOf(await got.post(url(), { headers: headers(), body: body(prompt), retry: { limit: 0 } }).json()),
  superagent: async (prompt) => textOf((await superagent.post(url()).set(headers()).send(body(prompt))).body),
  ky: async (prompt) => textOf(await ky.post(url(), { headers: headers(), body: body(prompt), retry: 0 }).json()),
  needle: async (prompt) => textOf((await needle("post", url(), body(prompt), { headers: headers() })).body),
  "node-fetch 3": async (prompt) =>
    textOf(await (await nodeFetch(url(), { method: "POST", headers: headers(), body: body(prompt) })).json()),
  "undici.request": async (prompt) =>
    textOf(await (await request(url(), { method: "POST", headers: headers(), body: body(prompt) })).body.json()),
  "undici.fetch": async (prompt) =>
    textOf(await (await undiciFetch(url(), { method: "POST", headers: headers(), body: body(prompt) })).json()),
};

const queue = new PQueue({ concurrency: 2 });
const limit = pLimit(2);
const bottleneck = new Bottleneck({ maxConcurrent: 2 });
const fast = fastq.promise(byFetch, 2);
const resources = genericPool.createPool({ create: async () => ({ ask: byFetch }), destroy: async () => {} }, { max: 2 });
const loader = new DataLoader(
  async (prompts) => {
    const answer = await byFetch(prompts.join(" and "));
    return prompts.map(() => answer);
  },
  { cache: false },
);
const listeners = new EventEmitter();
listeners.on("ask", (prompt, done, fail) => byFetch(prompt).then(done, fail));
const jobs = [];
// As workers of a queue do, that poll for jobs.
const poll = setInterval(() => {
  const job = jobs.shift();
  if (job !== undefined) byFetch(job.prompt).then(job.done, job.fail);
}, 2);
poll.unref();
/** A pool of undici's own with one connection: what waits for it is sent where another ends. */
const narrow = new Agent({ connections: 1 });
const limited = async (prompt) => {
  pool ??= new Pool(new URL(url()).origin, { connections: 1 });
  const path = new URL(url()).pathname;
  return textOf(await (await pool.request({ path, method: "POST", headers: headers(), body: body(prompt) })).body.json());
};
const code = `
const { parentPort, workerData } = require("node:worker_threads");
fetch(process.env.OPENAI_BASE_URL + "/chat/completions", {
  method: "POST",
  headers: { authorization: "Bearer " + process.env.OPENAI_API_KEY, "content-type": "application/json" },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: workerData }] }),
}).then((response) => response.text()).then((text) => parentPort.postMessage(text));
`;
let first;

/** How a call of three reaches the model, by what the episodes share. */
export const shared = {
  "p-queue": (prompt) => queue.add(() => byFetch(prompt)),
  "p-limit": (prompt) => limit(() => byFetch(prompt)),
  bottleneck: (prompt) => bottleneck.schedule(() => byFetch(prompt)),
  fastq: (prompt) => fast.push(prompt),
  "generic-pool": (prompt) => resources.use(({ ask }) => ask(prompt)),
  dataloader: (prompt) => loader.load(prompt),
  "EventEmitter listener": (prompt) => new Promise((done, fail) => listeners.emit("ask", prompt, done, fail)),
  "worker that polls": (prompt) => new Promise((done, fail) => jobs.push({ prompt, done, fail })),
  "worker thread": (prompt) =>
    new Promise((done, fail) => {
      const worker = new Worker(code, { eval: true, workerData: prompt });
      worker.on("error", fail).on("message", (text) => {
        void worker.terminate();
        try {
          done(textOf(JSON.parse(text)));
        } catch (error) {
          fail(error);
        }
      });
    }),
  "undici pool of one connection": limited,
  "fetch through one connection": async (prompt) =>
    textOf(await (await fetch(url(), { method: "POST", headers: headers(), body: body(prompt), dispatcher: narrow })).json()),
  "p-queue, with the key of the agent's second argument": (prompt, { baseUrl, apiKey }) =>
    queue.add(async () => {
      const own = { ...headers(), authorization: `Bearer ${apiKey}` };
      return textOf(
        await (await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers: own, body: body(prompt) })).json(),
      );
    }),
  "a client that keeps the first episode's key": async (prompt, { baseUrl, apiKey }) => {
    first ??= new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
    const messages = [{ role: "user", content: prompt }];
    return (await first.chat.completions.create({ model: "gpt-5-mini", messages })).choices[0].message.content;
  },
};
