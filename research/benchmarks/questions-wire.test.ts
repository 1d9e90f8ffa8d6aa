import "../../test/loopback.ts";
import "../install.ts";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import { afterAll, expect, test, vi } from "vitest";
import { EnvError } from "../../src/core/errors.ts";
import { deepResearchEnvironment } from "./deep-research.ts";
import { folder, jsonl, path, questions, write } from "./questions.fixture.ts";
import { openQuestions } from "./questions.ts";

// No walls are tried, as no Python starts.
vi.mock(import("../../extensions/tools/python/walls.ts"), async (original) => ({
  ...(await original()),
  walls: () => [],
  isWalled: () => true,
}));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("answers of a web service are kept in its folder, for other runs too", async () => {
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    const asked = new URL(request.url ?? "", "http://localhost").searchParams.get("q");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ results: [{ title: "t", url: "u", content: `about ${asked}` }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const ask = async (folder: object) => {
      const search = { kind: "searxng", url: `http://127.0.0.1:${port}`, ...folder };
      const environment = deepResearchEnvironment({ data: { train: questions }, search });
      const { tools } = await environment.start(await environment.task("train", 0), 0);
      return tools[0].execute({ query: 'the "owl"' }, { signal: new AbortController().signal });
    };
    const kept = { folder: path("kept") };
    expect([await ask(kept), await ask(kept), requests]).toEqual(["Page 1: about the owl", "Page 1: about the owl", 1]);
    expect([await ask({}), requests]).toEqual(["Page 1: about the owl", 2]);
  } finally {
    server.close();
  }
});

const recorded = write("recorded.json", "{}");

/** As ARPO's training data: `\boxed` with a broken escape, the gold answer as the rule's. */
const verl = {
  data_source: "made up",
  prompt: [
    { role: "system", content: "Put it into \boxed{}, as in \\[ \boxed{answer} \\]." },
    { role: "user", content: "How many owls?" },
  ],
  ability: "math",
  reward_model: { ground_truth: "3", style: "rule" },
  extra_info: { index: 0, question: "How many owls?" },
  metadata: null,
};

test("rows of verl, from JSONL, gzipped JSONL and Parquet alike: their prompt is kept, and its escapes repaired", async () => {
  const gz = write("verl.jsonl.gz", gzipSync(`${JSON.stringify(verl)}\n\n`));
  const columns = ["prompt", "ability", "reward_model", "extra_info"] as const;
  parquetWriteFile({
    filename: path("verl.parquet"),
    columnData: columns.map((name) => ({
      name,
      data: [verl[name]],
      type: name === "ability" ? ("STRING" as const) : ("JSON" as const),
    })),
  });
  const expected = {
    question: "How many owls?",
    golds: ["3"],
    ability: "math",
    prompt: [{ role: "system", content: "Put it into \\boxed{}, as in \\[ \\boxed{answer} \\]." }, verl.prompt[1]],
  };
  for (const file of [jsonl("verl.jsonl", verl), gz, path("verl.parquet")])
    expect(await openQuestions(file, "data").read()).toEqual([expected]);

  const environment = deepResearchEnvironment({ data: { train: path("verl.parquet") }, recorded });
  const task = await environment.task("train", 0);
  expect(task).toMatchObject({ id: "train/0", kind: "math" });
  expect((await environment.start(task, 0)).messages).toEqual(expected.prompt);
});

test("splits are their files, one after the other; a split without one has no tasks", async () => {
  const environment = deepResearchEnvironment({
    data: { test: [questions, jsonl("third.jsonl", { question: "Why?", answer: "c" })] },
    recorded,
  });
  expect(["train", "test"].map((split) => environment.size(split === "test" ? "test" : "train"))).toEqual([0, 3]);
  const asked = await Promise.all([0, 1, 2].map(async (index) => (await environment.task("test", index)).question.question));
  expect(asked).toEqual(["Who, then?", "When?", "Why?"]);
  await expect(environment.task("train", 0)).rejects.toThrow(EnvError);
});

test("questions of other splits are not trained on, whatever their case and punctuation", async () => {
  const test = jsonl("test.jsonl", { question: "who then", answer: "a" });
  const environment = deepResearchEnvironment({ data: { train: questions, test }, recorded });
  expect(environment.size("train")).toBe(2);
  const asked = await Promise.all([0, 1].map(async (index) => (await environment.task("train", index)).question.question));
  expect(asked).toEqual(["When?", "When?"]);
  const nothingLeft = deepResearchEnvironment({ data: { train: questions, validation: questions }, recorded });
  await expect(nothingLeft.task("train", 0)).rejects.toThrow(/some that are in no other split/);
});

test("a local corpus is searched with its titles, what is recorded first; keys come from the environment", async () => {
  const corpus = jsonl(
    "corpus.jsonl",
    { title: "Owl Peak", text: "It is 421 m high." },
    { title: "Owls", text: "Owls are birds." },
  );
  const records = write("some.json", JSON.stringify({ peak: "Page 1: recorded" }));
  const search = { kind: "local", path: corpus };
  const found = async (settings: object, query: string) => {
    const environment = deepResearchEnvironment({ data: { train: questions }, ...settings }, { KEY: "k" });
    const { tools } = await environment.start(await environment.task("train", 0), 0);
    return tools[0].execute({ query }, { signal: new AbortController().signal });
  };
  expect(await found({ search }, "peak")).toBe("Page 1: Owl Peak\nIt is 421 m high.");
  expect(await found({ search }, "birds")).toBe("Page 1: Owls are birds.");
  expect(await found({ search, recorded: records }, "peak")).toBe("Page 1: recorded");
  expect(await found({ search, recorded: records }, "birds")).toBe("Page 1: Owls are birds.");
  expect(() => deepResearchEnvironment({ data: {}, search: { kind: "serper", keyEnv: "KEY" } }, { KEY: "k" })).not.toThrow();
});
