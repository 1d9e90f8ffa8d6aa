import type { AssistantMessage } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import type { Episode, Reply, Score } from "../../src/environments/environment.ts";
import { countBehaviours, type RequestRecord } from "./behaviours.ts";
import { changesBetween, sameLines } from "./changes.ts";
import { saysTheSame } from "./closing.ts";
import type { KindName } from "./kinds.ts";
import { couriers, folders } from "./rules.ts";
import type { OfficeSettings } from "./settings.ts";
import type { OfficeTask } from "./task.ts";
import { type MadeCall, toolsOn } from "./tools.ts";
import { cloneWorld, type World } from "./world.ts";

interface State {
  readonly world: World;
  /** The requests that were closed, in their order. */
  readonly closed: readonly ClosedRequest[];
  /** Calls that were made for the open request. */
  readonly calls: readonly MadeCall[];
  readonly question?: Question;
}

/** Whether asking was right: only of two people that the assistant has seen. */
type Question = "fitting" | "needless";

interface ClosedRequest extends RequestRecord {
  readonly question?: Question;
  /** The state when it was closed. */
  readonly after: World;
}

const prompts: Readonly<Record<OfficeSettings["prompt"], string>> = {
  short: "You are an office assistant.",
  full: [
    "You are an office assistant with tools. Look everything up: never make up an id.",
    'If a first name fits two people, ask "Which Ana?", and look the answer up. A message to somebody who is away goes to the deputy, nothing else does.',
    "If a tool is busy, call it again; if it is closed, say so. Leave locked files alone. Read the note of a file before you share it; private ones are not shared.",
    "Book a flex room for an event that is open, a fixed one for an event that is settled.",
    `Each type of file has its folder (${folders.join(", ")}), and each day its courier (${couriers.join(", ")}): find out which.`,
    'When a request is done, say so in these words and no others: "Paid Ana Kim 45.", "Told Ana Kim.", "Sent Ana Kim a parcel.", "Shared Report with Ana Kim.", "Report is in Drafts.", "The bill Report is gone.", "Review has a flex room.", "Review is on Monday at 14:30.", "Review on Monday is off.", "Ana Kim sits at 45."',
    'If it cannot be done, do nothing and say why: "Sorry, I cannot find Zed.", "Sorry, pay is closed.", "Sorry, Report is locked.", "Sorry, Report is private.", "Sorry, the room is fixed."',
  ].join(" "),
};

export interface OfficeEpisode extends Episode {
  reply(message: AssistantMessage): Reply;
  score(): Score;
  clone(): OfficeEpisode;
}

export function startEpisode(task: OfficeTask, settings: Pick<OfficeSettings, "reward" | "prompt">): OfficeEpisode {
  return episodeFrom(task, settings, { world: cloneWorld(task.world), closed: [], calls: [] });
}

function episodeFrom(task: OfficeTask, settings: Pick<OfficeSettings, "reward" | "prompt">, start: State): OfficeEpisode {
  const { world } = start;
  let { closed, calls, question } = start;
  const user = (content: string) => ({ done: false, messages: [{ role: "user", content }] }) as const;
  return {
    messages: [
      { role: "system", content: prompts[settings.prompt] },
      { role: "user", content: present(task.requests[0], "the first request").text },
    ],
    tools: toolsOn(world, (call) => {
      calls = [...calls, call];
    }),
    reply({ content }: AssistantMessage): Reply {
      const request = task.requests[closed.length];
      if (request === undefined) return { done: true };
      if (content.includes("?") && question === undefined) {
        const sawTwo = calls.some(({ tool, result }) => tool === "find_contact" && Array.isArray(result) && result.length > 1);
        const meant = sawTwo ? request.meant : undefined;
        question = meant === undefined ? "needless" : "fitting";
        return user(meant ?? "I do not know.");
      }
      const before = closed.at(-1)?.after ?? task.world;
      closed = [
        ...closed,
        { request, world: before, calls, asked: question !== undefined, closing: content, question, after: cloneWorld(world) },
      ];
      [calls, question] = [[], undefined];
      const next = task.requests[closed.length];
      return next === undefined ? { done: true } : user(next.text);
    },
    score: () => scoreOf(task, closed, settings.reward),
    clone: () => episodeFrom(task, settings, { world: cloneWorld(world), closed, calls, question }),
  };
}

/**
 * sparse: 1 if every request was fulfilled. dense: the share of those that were: they changed what they should and nothing else before they were
 * closed, the closing says what was done or why not, and nothing was asked without need.
 * Scores: `success` (the sparse reward), `requests` (the dense one), `said` (the share of right closings), `needless` (questions without
 * need), and `kind.<name>` for each kind of request.
 */
function scoreOf(task: OfficeTask, closed: readonly ClosedRequest[], reward: OfficeSettings["reward"]): Score {
  const done = task.requests.map((request, i) => {
    const record = closed[i];
    const said = record !== undefined && saysTheSame(record.closing, request.closing);
    const isRight = said && record.question !== "needless";
    return {
      kind: request.kind,
      said,
      fulfilled: isRight && sameLines(changesBetween(record.world, record.after), request.changes),
    };
  });
  const [said, fulfilled] = [done.map((one) => one.said), done.map((one) => one.fulfilled)];
  const success = fulfilled.every(Boolean) ? 1 : 0;
  const share = mean(fulfilled);
  const ofKind = (kind: KindName) => done.filter((one) => one.kind === kind).map((one) => one.fulfilled);
  return {
    reward: reward === "sparse" ? success : share,
    scores: {
      success,
      requests: share,
      said: mean(said),
      needless: closed.filter(({ question }) => question === "needless").length,
      ...Object.fromEntries(task.kinds.map((kind) => [`kind.${kind}`, mean(ofKind(kind))])),
    },
    behaviours: countBehaviours(closed),
  };
}

function mean(flags: readonly boolean[]): number {
  return flags.filter(Boolean).length / flags.length;
}
