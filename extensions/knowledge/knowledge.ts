import { z } from "zod";
import { EnvError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { defineTool, type Tool } from "../../src/tools/tool.ts";
import { researchProtocol } from "../arpo-protocol/protocol.ts";
import { pagesText, pythonTool } from "../arpo-protocol/tools.ts";
import { behaviours } from "./behaviours.ts";
import { evaluate } from "./calculator.ts";
import type { Corpus } from "./corpus.ts";
import { demonstrate } from "./demonstrations.ts";
import { episodeOf, type KnowledgeEpisode } from "./episode.ts";
import { completeSettings, type KnowledgeSettings, knowledgeSettingsSchema } from "./settings.ts";
import { challengeKinds, drawTask, type KnowledgeTask } from "./task.ts";

/**
 * An embedded world of facts, searched and calculated with in ARPO's protocol (arXiv:2507.19849): each task has a small corpus of
 * its own, so that nothing can be known by heart. Tasks are generated without end; the seed of an episode decides nothing.
 * @throws ConfigError naming the first setting that is wrong
 */
export function knowledgeEnvironment(userSettings: unknown = {}): KnowledgeEnvironment {
  return environmentOf(completeSettings(parseSettings(knowledgeSettingsSchema, userSettings, "environment.settings")));
}

export interface KnowledgeEnvironment extends Environment<KnowledgeTask> {
  start(task: KnowledgeTask): KnowledgeEpisode;
}

export function environmentOf(settings: KnowledgeSettings): KnowledgeEnvironment {
  const hasChallenge = challengeKinds(settings.kinds).length > 0;
  const protocol = researchProtocol({
    kind: "training",
    limits: { calls: settings.calls, search: settings.calls, python: settings.calls },
    maxResponseTokens: settings.responseTokens,
  });
  const python = settings.calculator === "python" ? pythonTool({ limits: {}, python: pythonSettings }) : calculator;
  return {
    name: "knowledge",
    size: (split) => (split === "challenge" && !hasChallenge ? 0 : Number.POSITIVE_INFINITY),
    task(split, index) {
      if (split === "challenge" && !hasChallenge)
        throw new EnvError("knowledge split", split, { hint: "It needs a kind of question with two or more hops." });
      return drawTask(settings, split, index);
    },
    start: (task) => episodeOf(task, [searchTool(task.corpus, settings.pages), python], protocol, settings),
    expert: {
      behaviours: Object.keys(behaviours),
      play(task, lazy = {}) {
        const habits = Object.entries(behaviours).flatMap(([name, habit]) => (lazy[name] === "never" ? [habit] : []));
        return demonstrate(task, settings, randomStream(0), {
          slip: Object.fromEntries(habits.map((habit) => [habit, 1])),
          // A query in full always shows what is wanted. A policy that never searches again has no cause to write short ones, but does.
          queries: habits.includes("settle") ? { short: 1 } : { full: 1 },
        });
      },
    },
  };
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
