import { present } from "../../src/core/present.ts";
import { type Random, randomStream, seedOf } from "../../src/core/random.ts";
import { type Split, splits, type Task } from "../../src/environments/environment.ts";
import { changesBetween } from "./changes.ts";
import { isRefusal } from "./closing.ts";
import type { ExpertState } from "./expert.ts";
import { fill, type Phrasings } from "./grammar.ts";
import type { Draft, Kind, Topic } from "./kind.ts";
import { canFollow, isFollowUp, isHeldOut, type KindName, kindOf } from "./kinds.ts";
import { closed, type Plan } from "./plan.ts";
import type { OfficeSettings } from "./settings.ts";
import { toolsOn } from "./tools.ts";
import { type Words, wordsOf } from "./vocabulary.ts";
import { cloneWorld, drawWorld, type World } from "./world.ts";

export interface OfficeTask extends Task {
  /** The kinds of its requests, joined by "+". */
  readonly kind: string;
  readonly kinds: readonly KindName[];
  readonly requests: readonly Request[];
  /** The state at the start. */
  readonly world: World;
}

export interface Request {
  readonly kind: KindName;
  readonly text: string;
  /** The user's answer if they are asked which person they mean. */
  readonly meant?: string;
  /** The changes that it should make, where all earlier requests are fulfilled; see `changesBetween`. */
  readonly changes: readonly string[];
  /** The words that the expert says at the end. */
  readonly closing: string;
  /** How an expert in this state solves it. */
  solve(state: ExpertState): Plan;
}

/** The shifts from training to the challenge split, each of which also has a split of its own, with it alone. */
export const shifts = ["names", "phrasings", "pairs", "length"] as const;
type Shift = (typeof shifts)[number];
export const officeSplits: readonly Split[] = [...splits, ...shifts];
const isShifted = (split: Split, shift: Shift) => split === "challenge" || split === shift;

const wordsIn = (split: Split) => wordsOf(isShifted(split, "names") ? "challenge" : "train");

function phrasingsIn(split: Split): keyof Phrasings {
  if (isShifted(split, "phrasings")) return "challenge";
  return split === "validation" ? "validation" : "train";
}

/**
 * Which split a text of the user's belongs to: half of all texts are for training, a quarter each for validation and test. What the shifted
 * splits say is from the half that is not for training.
 */
function belongs(text: string, split: Split): boolean {
  const quarter = seedOf(0, "office", "text", text) & 3;
  switch (split) {
    case "train":
      return quarter < 2;
    case "validation":
      return quarter === 2;
    case "test":
      return quarter === 3;
    default:
      return quarter >= 2;
  }
}

/** True if a pair of these kinds that is kept from training can follow each other. */
export function hasChallenge(kinds: readonly KindName[]): boolean {
  return kinds.some(
    (first) => !isFollowUp(first) && kinds.some((second) => canFollow(first, second) && isHeldOut(first, second)),
  );
}

/**
 * The task of a split and index. The splits draw from streams of their own.
 * @param words those of the split if left out
 */
export function drawTask(settings: OfficeSettings, split: Split, index: number, words: Words = wordsIn(split)): OfficeTask {
  const random = randomStream(0, "honest-office", split, index);
  const { requests, turns } = isShifted(split, "length") ? settings.challenge : settings;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const kinds = drawKinds(settings, requests, split, random);
    const task = kinds && tryTask(settings, kinds, split, words, random);
    if (task !== undefined && task.turns >= turns.min && task.turns <= turns.max)
      return { ...task.task, id: `${split}/${index}` };
  }
  throw new RangeError(`no task of the kinds ${settings.kinds.join(", ")} has ${turns.min} to ${turns.max} turns`);
}

/** Far more than any setting of `difficulty` needs. */
const attempts = 20_000;

function drawKinds(
  { kinds }: OfficeSettings,
  { min, max }: OfficeSettings["requests"],
  split: Split,
  random: Random,
): KindName[] | undefined {
  const count = min + random.integer(max - min + 1);
  const names: KindName[] = [];
  while (names.length < count) names.push(drawNext(kinds, names.at(-1), random));
  const unseen = names.slice(1).some((name, i) => isHeldOut(present(names[i], "the request before"), name));
  return unseen === isShifted(split, "pairs") ? names : undefined;
}

function drawNext(kinds: readonly KindName[], before: KindName | undefined, random: Random): KindName {
  const fitting = kinds.filter((name) => !isFollowUp(name) || (before !== undefined && canFollow(before, name)));
  const followUps = fitting.filter(isFollowUp);
  return weighted(followUps.length > 0 && random.chance(0.8) ? followUps : fitting.filter((name) => !isFollowUp(name)), random);
}

function weighted(kinds: readonly KindName[], random: Random): KindName {
  let left = random.uniform() * kinds.reduce((sum, name) => sum + kindOf(name).weight, 0);
  return kinds.find((name) => (left -= kindOf(name).weight) < 0) ?? present(kinds[0], "a kind of request");
}

/** The expert without bad habits. */
const perfectExpert = (): ExpertState => ({ slips: () => false, chooses: (_, right) => right });

/** A task with requests of these kinds, in this order, and the expert's turns; undefined where one of them does not fit what was drawn before it. */
function tryTask(
  settings: OfficeSettings,
  names: readonly KindName[],
  split: Split,
  words: Words,
  random: Random,
): { readonly task: Omit<OfficeTask, "id">; readonly turns: number } | undefined {
  const world = drawWorld(random, settings.size, words, (name) => belongs(name, split));
  const tools = names.flatMap((name) => kindOf(name).tool ?? []);
  if (tools.length > 0 && random.chance(settings.faults))
    world.fault = { tool: random.pick(tools), state: random.chance(0.5) ? "busy" : "closed" };

  const plan = cloneWorld(world);
  let calls = 0;
  const onCall = () => {
    calls++;
  };
  let turns = 0;
  const toolByName = new Map(toolsOn(plan, onCall).map((tool) => [tool.name, tool]));
  const state = perfectExpert();
  const requests: Request[] = [];
  let topic: Topic = {};
  for (const name of names) {
    const kind = kindOf(name);
    const before = cloneWorld(plan);
    const drawn = drawText(kind, () => kind.draw({ world: plan, random, words, topic }), split, random);
    if (drawn === undefined) return undefined;
    const { draft, text } = drawn;
    const solve = (state: ExpertState) => closed(isFollowUp(name) ? draft.solve(state) : afresh(draft, state));
    const steps = solve(state);
    let step = steps.next();
    for (; !step.done; turns++) {
      const { value } = step;
      const result =
        typeof value === "string"
          ? (draft.meant ?? "")
          : toolByName.get(value.name)?.execute(value.arguments, { signal: neverAborted });
      step = steps.next(typeof result === "string" ? result : JSON.stringify(result));
    }
    turns++;
    const closing = step.value;
    requests.push({ kind: name, text, meant: draft.meant, changes: changesBetween(before, plan), closing, solve });
    topic = isRefusal(closing) ? {} : (draft.topic ?? {});
  }
  // Whoever only talks is to solve nothing.
  if (tools.length > 1 && requests.every(({ changes }) => changes.length === 0)) return undefined;
  const start: World = { ...world, callsLeft: calls + settings.spareCalls };
  return { task: { kind: names.join("+"), kinds: names, requests, world: start }, turns };
}

/** A request whose text belongs to the split; undefined if none was found. */
function drawText(
  { phrasings }: Kind,
  draw: () => Draft | undefined,
  split: Split,
  random: Random,
): { readonly draft: Draft; readonly text: string } | undefined {
  const usable = phrasings[phrasingsIn(split)];
  for (let attempt = 0; attempt < 20; attempt++) {
    const draft = draw();
    if (draft === undefined) return undefined;
    const text = fill(random.pick(usable), draft.words);
    if (belongs(text, split)) return { draft, text };
  }
  return undefined;
}

/** A request that builds on nothing leaves no earlier person or event to be talked about. */
function* afresh(draft: Draft, state: ExpertState): Plan {
  state.contact = undefined;
  state.event = undefined;
  return yield* draft.solve(state);
}

const neverAborted = new AbortController().signal;
