import { z } from "zod";
import { Context, commonPrefix } from "../../../src/core/context.ts";
import { RunError } from "../../../src/core/errors.ts";
import { mean } from "../../../src/core/mean.ts";
import type { Message } from "../../../src/core/messages.ts";
import { type Trajectory, type Turn, turnsOfMessages } from "../../../src/core/trajectory.ts";
import { entryAt, facetsOf, filterIndex, findPosition, type IndexPosition } from "../../inspect/filter.ts";
import type { RecordedCredit } from "../../inspect/read-credits.ts";
import { treeOf } from "../../inspect/tree.ts";
import type { MessageView, TrajectoryPage, TrajectoryView, TreeView, TurnView, UpdateView } from "./api.ts";
import { NotFound } from "./http.ts";
import type { RunSource } from "./run-source.ts";
import type { TokenTexts } from "./token-texts.ts";

/** A search of text ends after this time, in milliseconds, with what it has found. */
const searchMs = 800;

export const count = z.coerce.number().int().min(0);
/** A filter, as `filterIndex` takes it, and which of the passing trajectories are listed. */
export const pageQuery = z.object({
  offset: count.default(0),
  limit: count.max(500).default(50),
  source: z.string().optional(),
  split: z.string().optional(),
  fromStep: count.optional(),
  toStep: count.optional(),
  task: z.string().optional(),
  kind: z.string().optional(),
  stop: z.string().optional(),
  minReward: z.coerce.number().optional(),
  maxReward: z.coerce.number().optional(),
  success: z.stringbool().optional(),
  text: z.string().max(500).optional(),
  /** The column by which a list is sorted, with its highest first. Without one the newest are first. */
  sort: z.enum(["reward", "turns", "tokens", "entropy"]).optional(),
  ascending: z.stringbool().default(false),
});
type PageRequest = z.output<typeof pageQuery>;

/** One page of the trajectories that pass, the newest steps first. A text is searched in the files of those that pass the rest. */
export function trajectoryPage(
  source: RunSource,
  { text, sort, ascending, offset, limit, ...filter }: PageRequest,
): TrajectoryPage {
  const started = performance.now();
  const index = source.index();
  const passing = filterIndex(index, filter).reverse();
  const searched = text === undefined ? undefined : search(source, passing, text);
  const positions = sorted(searched?.found ?? passing, sort, ascending);
  return {
    facets: facetsOf(index),
    total: positions.length,
    rows: positions.slice(offset, offset + limit).map((position) => ({ ...entryAt(position), ...promptOf(source, position) })),
    took: performance.now() - started,
    ...(searched === undefined ? {} : { searched: searched.looked }),
    problems: [...(searched?.problems ?? [])],
  };
}

/** Ties stay as they are: the newest first. */
function sorted(positions: readonly IndexPosition[], by: PageRequest["sort"], ascending: boolean): readonly IndexPosition[] {
  if (by === undefined) return positions;
  const value = ({ line, at }: IndexPosition) => line[by][at] ?? 0;
  return positions.toSorted((a, b) => (ascending ? value(a) - value(b) : value(b) - value(a)));
}

/** Characters of a prompt in a list. */
const longestPrompt = 160;

/** The user's first words; nothing of a file that is damaged, which the episode's own page reports. */
function promptOf(source: RunSource, position: IndexPosition): { readonly prompt?: string } {
  try {
    const first = source.trajectory(position).messages.find(({ role }) => role === "user");
    return first === undefined ? {} : { prompt: first.content.slice(0, longestPrompt) };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return {};
  }
}

function search(
  source: RunSource,
  positions: readonly IndexPosition[],
  text: string,
): { found: IndexPosition[]; looked: number; problems: ReadonlySet<string> } {
  // In the stored line a text is as JSON writes it.
  const wanted = JSON.stringify(text).slice(1, -1).toLowerCase();
  const deadline = performance.now() + searchMs;
  const found: IndexPosition[] = [];
  const problems = new Set<string>();
  let looked = 0;
  for (const position of positions) {
    if (performance.now() > deadline) break;
    looked++;
    try {
      if (messagesOf(source.line(position)).toLowerCase().includes(wanted)) found.push(position);
    } catch (error) {
      if (!(error instanceof RunError)) throw error;
      problems.add(error.message);
    }
  }
  return { found, looked, problems };
}

/** The part of a stored line that people read. */
function messagesOf(line: string): string {
  const from = line.indexOf('"messages":');
  const to = line.indexOf(',"turns":');
  return from < 0 ? line : line.slice(from, to < from ? undefined : to);
}

/** @throws NotFound where the run has no trajectory of that id */
export function positionOf(source: RunSource, id: string): IndexPosition {
  const position = findPosition(source.index(), id);
  if (position === undefined) throw new NotFound(`This run has no trajectory "${id}".`);
  return position;
}

/** @throws NotFound where the run has no trajectory of that id */
export async function trajectoryView(source: RunSource, id: string): Promise<TrajectoryView> {
  const position = positionOf(source, id);
  const trajectory = source.trajectory(position);
  const entry = entryAt(position);
  const credits = position.line.source === "train" ? await source.credits(entry.step) : undefined;
  const own = (credits ?? []).filter((credit) => credit.trajectory === id);
  const group = filterIndex([position.line], { group: entry.group }).map(entryAt);
  const { branch, error, scores, stopReason } = trajectory;
  return {
    entry,
    scores,
    stop: stopReason,
    ...(error === undefined ? {} : { error }),
    ...(branch === undefined ? {} : { branch: { from: branch.from, turn: branch.turn, kept: branch.kept } }),
    messages: messageViews(trajectory),
    turns: turnViews(trajectory, own, source.texts()),
    group,
    groupMean: mean(group.map(({ reward }) => reward)),
    hasCredits: credits !== undefined,
  };
}

function messageViews(trajectory: Trajectory): MessageView[] {
  const turns = turnsOfMessages(trajectory);
  return trajectory.messages.map((message, i) => {
    const turn = turns[i]?.turn;
    return { ...messageView(message), ...(turn === undefined ? {} : { turn }) };
  });
}

function messageView(message: Message): MessageView {
  switch (message.role) {
    case "assistant":
      return {
        role: "assistant",
        content: message.content,
        ...(message.reasoning === undefined ? {} : { reasoning: message.reasoning }),
        calls: (message.toolCalls ?? []).map(({ name, arguments: args }) => ({ name, arguments: JSON.stringify(args) })),
      };
    case "tool":
      return { role: "tool", name: message.name, content: message.content };
    default:
      return { role: message.role, content: message.content };
  }
}

function turnViews({ turns }: Trajectory, credits: readonly RecordedCredit[], texts: TokenTexts): TurnView[] {
  let previous: Context | undefined;
  return turns.map((turn) => {
    const shared = previous === undefined ? 0 : commonPrefix(previous, turn.context);
    previous = Context.from(turn.context).extend(turn.action);
    return {
      turn: turn.turn,
      ...(turn.role === undefined ? {} : { role: turn.role }),
      context: texts.join(turn.context.slice(shared)),
      texts: texts.of(turn.action),
      ids: turn.action,
      logprobs: turn.samplerLogprobs,
      entropies: turn.entropies,
      truncated: turn.truncated,
      rewritten: turn.rewritten,
      toolCalls: turn.toolCalls,
      invalidToolCalls: turn.invalidToolCalls,
      ...branchingOf(turn),
      updates: credits.filter((credit) => credit.turn === turn.turn).map(updateView),
    };
  });
}

function branchingOf({ branching }: Turn): { rise?: number; forks?: number } {
  return branching === undefined ? {} : { rise: branching.rise, forks: branching.forks };
}

function updateView(credit: RecordedCredit): UpdateView {
  const { optimiserStep, advantage, factor, ratio, learningRate, rateShare, weights, before, end, ratios } = credit;
  return {
    optimiserStep,
    advantage: known(advantage),
    factor: known(factor),
    ratio: known(ratio),
    learningRate,
    rateShare,
    weights,
    before: before.map(known),
    end: end.map(known),
    ratios: ratios.map(known),
  };
}

/** JSON has no NaN. */
function known(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** The tree of a group; of the step's first branched group, else its first, where none is named. */
export function treeView(source: RunSource, step: number, wanted: string | undefined): TreeView {
  const line = source.index().find((of) => of.source === "train" && of.step === step);
  if (line === undefined) throw new NotFound(`Step ${step} has no trajectories.`);
  const trajectories = source.all(line);
  const groups = line.groups.map((group) => {
    const members = trajectories.filter((trajectory) => trajectory.group === group);
    return {
      group,
      task: members[0]?.task ?? "",
      reward: members.reduce((sum, { reward }) => sum + reward, 0) / Math.max(1, members.length),
      branched: members.some(({ branch }) => branch !== undefined),
      members,
    };
  });
  const shown = groups.find(({ group }) => group === wanted) ?? groups.find(({ branched }) => branched) ?? groups.at(0);
  if (shown === undefined) throw new NotFound(`Step ${step} has no groups.`);
  return {
    group: shown.group,
    step,
    task: shown.task,
    root: treeOf(shown.members),
    groups: groups.map(({ members: _, ...rest }) => rest),
  };
}
