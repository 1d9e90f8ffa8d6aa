import "../../test/loopback.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { played } from "../../test/fixtures/written-sampler.ts";
import { deepResearchEnvironment } from "./deep-research.ts";

// No walls are tried, as no Python starts.
vi.mock(import("../../extensions/tools/python/walls.ts"), async (original) => ({
  ...(await original()),
  walls: () => [],
  isWalled: () => true,
}));

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function serve(answer: (path: string, body: string) => string | number): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const said = answer(request.url ?? "", body);
    response.writeHead(typeof said === "number" ? said : 200, { "content-type": "text/html" });
    response.end(typeof said === "number" ? "no" : said);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A search engine, pages and a summariser of our own; the question is about a page's text that no snippet has. */
async function world(summarise: (prompt: string) => string | number) {
  const prompts: string[] = [];
  const site = await serve((path) =>
    path === "/peak"
      ? `<p>${"Filler. ".repeat(2000)}</p><p>The Owl Peak was climbed early. Its height is 421 metres.</p><p>${"More. ".repeat(2000)}</p>`
      : 404,
  );
  const search = await serve(() =>
    JSON.stringify({
      results: [
        { title: "Peak", url: `${site}/peak`, content: "The Owl Peak was climbed early" },
        { title: "Gone", url: `${site}/gone`, content: "A snippet alone." },
      ],
    }),
  );
  const baseUrl = await serve((_, body) => {
    const prompt: string = JSON.parse(body).messages[0].content;
    prompts.push(prompt);
    const content = summarise(prompt);
    return typeof content === "number" ? content : JSON.stringify({ choices: [{ message: { content } }] });
  });
  const folder = mkdtempSync(join(tmpdir(), "deep-search-"));
  writeFileSync(join(folder, "q.jsonl"), `${JSON.stringify({ question: "How high is the Owl Peak?", answer: "421 metres" })}\n`);
  const environment = deepResearchEnvironment({
    ...{ data: { train: join(folder, "q.jsonl") }, protocol: "evaluation", search: { kind: "searxng", url: search } },
    deepSearch: { summariser: { baseUrl: `${baseUrl}/v1`, model: "small" }, around: 200, allowLoopback: true },
  });
  return { environment, prompts };
}

const call = "<think>look</think><search>owl peak height</search>";
const answer = "<think>done</think><answer>\\boxed{421 metres}</answer>";

test("pages of the results are read, cut and condensed: the summary is the result", async () => {
  const { environment, prompts } = await world((prompt) =>
    prompt.includes("421 metres") ? "<think>x</think>It is 421 m high." : "?",
  );
  const { response, scores, stopReason } = await played(environment, call + answer);
  expect(stopReason).toBe("done");
  expect(response).toContain(`${call}<result>It is 421 m high.</result>`);
  expect(scores).toMatchObject({ success: 1, em: 1, searches: 1 });
  expect(prompts).toHaveLength(1);
  expect(prompts[0]).toContain("Query: owl peak height");
  // Of the long page the passage around its sentence; of the page that cannot be read its snippet.
  expect(prompts[0]).toMatch(
    /Page 1:\nPeak\n[\s\S]*The Owl Peak was climbed early\. Its height is 421 metres[\s\S]*Page 2:\nGone\nA snippet alone\./,
  );
  expect(prompts[0].length).toBeLessThan(1200);
});

test("a summariser that fails ends episodes with its words: none is scored as if it had searched", async () => {
  const { environment } = await world(() => 401);
  const { stopReason, error } = await played(environment, call + answer);
  expect(stopReason).not.toBe("done");
  expect(error).toMatch(/401/);
});

test.each(["", "<think>The pages say"])("a summary that never came, %j, ends the episode likewise", async (said) => {
  const { environment } = await world(() => said);
  const { stopReason, error } = await played(environment, call + answer);
  expect(stopReason).not.toBe("done");
  expect(error).toMatch(/summary of small.*summariser\.maxTokens is 4096/);
});
