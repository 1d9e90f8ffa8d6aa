import "../install.ts";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { deepResearchEnvironment } from "./deep-research.ts";
import { folder, path, questions } from "./questions.fixture.ts";

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
