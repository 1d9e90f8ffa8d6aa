/** What calls of tools cost, in milliseconds: tools.ts; a request names what is measured, as in `measurements`. */
import { fileURLToPath } from "node:url";
import { connectMcp, createPython, localSearch } from "../../../entries/index.ts";
import { median } from "../statistics.ts";
import { answerRounds } from "./rounds.ts";

const python = createPython({ interpreters: 1 });
await python.run("1+1");
const session = python.session();
await session.run("1+1");
const begun = python.session();
for (const code of ["import json, math", "def f(n): return math.sqrt(n)", "x = [f(n) for n in range(100)]"])
  await begun.run(code);
const pair = createPython({ interpreters: 2 });
await pair.warm();

const words = Array.from({ length: 5000 }, (_, i) => `word${i}`);
const documents = Array.from({ length: 20_000 }, (_, at) => ({
  title: `Document ${at}`,
  text: Array.from({ length: 60 }, (_, i) => words[(at * 31 + i * i * 17) % words.length]).join(" "),
  url: "",
}));
const search = localSearch(documents);

const server = fileURLToPath(new URL("../../../test/fixtures/mcp/server.mjs", import.meta.url));
const mcp = await connectMcp({ command: process.execPath, args: [server] });
const [add] = mcp.tools;
const { signal } = new AbortController();

/** How often each is done in a round, whose median counts. */
const measurements: Readonly<Record<string, readonly [times: number, work: () => Promise<unknown>]>> = {
  "python start": [
    1,
    async () => {
      const fresh = createPython({ interpreters: 1 });
      await fresh.run("1+1");
      fresh.close();
    },
  ],
  "python call": [200, () => python.run("1+1")],
  "python session": [200, () => session.run("1+1")],
  "python session again": [50, () => begun.fork().run("x[99]")],
  "python 200 at once": [3, () => Promise.all(Array.from({ length: 200 }, () => pair.run("1+1")))],
  "search index": [1, async () => localSearch(documents)],
  "search query": [100, () => search.search("word17 word255 word4000", { count: 10 })],
  "mcp call": [200, async () => add.execute({ a: 1, b: 2 }, { signal })],
};

await answerRounds("retrograde", async (request) => {
  const [times, work] = measurements[request];
  const taken: number[] = [];
  for (let i = 0; i < times; i++) {
    const started = performance.now();
    await work();
    taken.push(performance.now() - started);
  }
  return { milliseconds: median(taken) };
});
python.close();
pair.close();
await mcp.close();
