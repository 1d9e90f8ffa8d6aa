import { z } from "zod";
import { defineTool, type Tool } from "../../src/tools/tool.ts";
import { researchProtocol } from "../arpo-protocol/protocol.ts";
import { pagesText, pythonTool } from "../arpo-protocol/tools.ts";
import { evaluate } from "./calculator.ts";
import type { Corpus } from "./corpus.ts";
import { episodeOf, type KnowledgeEpisode } from "./episode.ts";
import type { KnowledgeSettings } from "./settings.ts";
import type { KnowledgeTask } from "./task.ts";

/** Returns what starts an episode of a task: the search over its corpus, the calculator and ARPO's protocol, by the settings. */
export function startOf(settings: KnowledgeSettings): (task: KnowledgeTask) => KnowledgeEpisode {
  const protocol = researchProtocol({
    kind: "training",
    limits: { calls: settings.calls, search: settings.calls, python: settings.calls },
    maxResponseTokens: settings.responseTokens,
  });
  const python = settings.calculator === "python" ? pythonTool({ limits: {}, python: pythonSettings }) : calculator;
  return (task) => episodeOf(task, [searchTool(task.corpus, settings.pages), python], protocol, settings);
}

const pythonSettings = { interpreters: 2, timeoutMs: 10_000, memoryMb: 256 };

function searchTool({ index }: Corpus, pages: number): Tool {
  return defineTool({
    name: "search",
    description: "Searches for documents.",
    parameters: z.object({ query: z.string() }),
    idempotent: true,
    replayable: true,
    execute: ({ query }) => pagesText(index.search(query, pages)),
  });
}

const calculator = defineTool({
  name: "python",
  description: "Calculates an expression.",
  parameters: z.object({ code: z.string() }),
  idempotent: true,
  replayable: true,
  execute: ({ code }) => evaluate(code),
});
