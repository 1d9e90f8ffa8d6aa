/** `npx jiti bench/tools.ts`: what a call of a tool costs. Medians of several rounds. */
import { cpus } from "node:os";
import { connectMcp, createPython, localSearch } from "../src/index.ts";

async function medianMs(rounds: number, work: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  return `${sorted[rounds >> 1].toFixed(2)} ms (${sorted[0].toFixed(2)}–${sorted[rounds - 1].toFixed(2)})`;
}

function report(name: string, value: string): void {
  console.log(`${name.padEnd(42)} ${value}`);
}

console.log(`${cpus().length} × ${cpus()[0].model}, Node ${process.version}`);

report(
  "python: start to first answer",
  await medianMs(5, async () => {
    const python = createPython({ interpreters: 1 });
    await python.run("1+1");
    python.close();
  }),
);
const python = createPython({ interpreters: 1 });
await python.run("1+1");
report("python: 1+1, from nothing", await medianMs(200, () => python.run("1+1")));
const session = python.session();
await session.run("1+1");
report("python: 1+1, in a session", await medianMs(200, () => session.run("1+1")));
const started = python.session();
for (const code of ["import json, math", "def f(n): return math.sqrt(n)", "x = [f(n) for n in range(100)]"])
  await started.run(code);
report("python: a session of 3 calls, run again", await medianMs(100, () => started.fork().run("x[99]")));
python.close();

const pair = createPython({ interpreters: 2 });
await pair.warm();
report(
  "python: 200 calls at once, 2 interpreters",
  await medianMs(5, () => Promise.all(Array.from({ length: 200 }, () => pair.run("1+1")))),
);
pair.close();

const words = Array.from({ length: 5000 }, (_, i) => `word${i}`);
const documents = Array.from({ length: 20_000 }, (_, at) => ({
  title: `Document ${at}`,
  text: Array.from({ length: 60 }, (_, i) => words[(at * 31 + i * i * 17) % words.length]).join(" "),
  url: "",
}));
report("search: index of 20,000 documents", await medianMs(3, async () => localSearch(documents)));
const search = localSearch(documents);
report("search: a query of three words", await medianMs(100, () => search.search("word17 word255 word4000", { count: 10 })));

const args = [new URL("../test/fixtures/mcp/server.mjs", import.meta.url).pathname];
const mcp = await connectMcp({ command: process.execPath, args });
const [add] = mcp.tools;
const { signal } = new AbortController();
report("mcp: a call over stdio", await medianMs(200, async () => add.execute({ a: 1, b: 2 }, { signal })));
await mcp.close();
