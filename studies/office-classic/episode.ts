import type { AssistantMessage } from "../../src/core/messages.ts";
import type { Episode, Reply, Score } from "../../src/environments/environment.ts";
import { changesBetween, sameLines } from "./changes.ts";
import { type KindName, kindOf } from "./kinds.ts";
import type { OfficeSettings } from "./settings.ts";
import { isRefusal, type OfficeTask, type Request } from "./task.ts";
import { toolsOn } from "./tools.ts";
import { days, folders } from "./vocabulary.ts";
import { cloneWorld, type World } from "./world.ts";

interface State {
  readonly world: World;
  /** The requests that were closed, in their order. */
  readonly closed: readonly ClosedRequest[];
  /** The messages that the assistant said since. */
  readonly said: readonly string[];
}

interface ClosedRequest {
  /** The state then. */
  readonly world: World;
  /** All that the assistant said about it. */
  readonly words: string;
}

const system = { role: "system", content: "You are an office assistant." } as const;

export interface OfficeEpisode extends Episode {
  reply(message: AssistantMessage): Reply;
  score(): Score;
  clone(): OfficeEpisode;
}

export function startEpisode(task: OfficeTask, reward: OfficeSettings["reward"]): OfficeEpisode {
  return episodeFrom(task, reward, { world: cloneWorld(task.world), closed: [], said: [] });
}

function episodeFrom(task: OfficeTask, reward: OfficeSettings["reward"], start: State): OfficeEpisode {
  const { world } = start;
  let { closed, said } = start;
  const user = (content: string) => ({ done: false, messages: [{ role: "user", content }] }) as const;
  return {
    messages: [system, { role: "user", content: task.requests[0].text }],
    tools: toolsOn(world),
    reply({ content }: AssistantMessage): Reply {
      const request = task.requests[closed.length];
      if (request === undefined) return { done: true };
      said = [...said, content];
      if (content.includes("?") && said.length === 1) return user(request.meant ?? "I do not know.");
      closed = [...closed, { world: cloneWorld(world), words: said.join(" ") }];
      said = [];
      const next = task.requests[closed.length];
      return next === undefined ? { done: true } : user(next.text);
    },
    score: () => scoreOf(task, closed, world, reward),
    clone: () => episodeFrom(task, reward, { world: cloneWorld(world), closed, said }),
  };
}

/**
 * sparse: 1 if the final state is the wanted one, every question was answered rightly and every refusal was spoken.
 * dense: the share of requests that changed exactly what they should, with the right answer.
 * Scores: `success` (the sparse reward), `requests` (the dense one), `untouched` (1 if nothing was changed that should not be),
 * `answered` (the share of questions and refusals that were right; 1 if there were none), and `kind.<name>` for each kind of request.
 */
function scoreOf(task: OfficeTask, closed: readonly ClosedRequest[], final: World, reward: OfficeSettings["reward"]): Score {
  const { requests } = task;
  const right = requests.map((request, i) => i < closed.length && isAnswered(request, closed[i].words));
  const fulfilled = requests.map(({ changes }, i) => {
    const before = i === 0 ? task.world : closed[i - 1]?.world;
    return right[i] && sameLines(changesBetween(before, closed[i].world), changes);
  });
  const changes = changesBetween(task.world, final);
  const success = right.every(Boolean) && sameLines(changes, task.changes) ? 1 : 0;
  const share = mean(fulfilled);
  const spoken = right.filter((_, i) => kindOf(requests[i].kind).question || isRefusal(requests[i].closing));
  const wanted = new Set([...task.changes, ...requests.flatMap((request) => request.changes)]);
  const ofKind = (kind: KindName) => fulfilled.filter((_, i) => requests[i].kind === kind);
  return {
    reward: reward === "sparse" ? success : share,
    scores: {
      success,
      requests: share,
      untouched: changes.every((change) => wanted.has(change)) ? 1 : 0,
      answered: spoken.length === 0 ? 1 : mean(spoken),
      ...Object.fromEntries(task.kinds.map((kind) => [`kind.${kind}`, mean(ofKind(kind))])),
    },
  };
}

/** A refusal must be spoken, and a question's answer must have the values of the expert's and no other. */
function isAnswered(request: Request, words: string): boolean {
  if (isRefusal(request.closing)) return isRefusal(words);
  return !kindOf(request.kind).question || sameLines(valuesIn(words), valuesIn(request.closing));
}

const value = new RegExp(`\\b(\\d\\d?:\\d\\d|\\d+|${[...days, ...folders].join("|")})\\b`, "gi");

function valuesIn(words: string): string[] {
  return [...new Set(words.toLowerCase().match(value))].sort();
}

function mean(flags: readonly boolean[]): number {
  return flags.filter(Boolean).length / flags.length;
}
