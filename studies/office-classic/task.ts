import { type Random, randomStream } from "../../src/core/random.ts";
import type { Split, Task } from "../../src/environments/environment.ts";
import { closed, type Plan } from "../../src/environments/plan.ts";
import { changesBetween } from "./changes.ts";
import type { Mind } from "./expert.ts";
import type { Draft, Kind, Topic } from "./kind.ts";
import { canFollow, isFollowUp, isHeldOut, type KindName, kindOf } from "./kinds.ts";
import type { OfficeSettings } from "./settings.ts";
import { toolsOn } from "./tools.ts";
import { cloneWorld, drawWorld, type World } from "./world.ts";

export interface OfficeTask extends Task {
  /** The kinds of its requests, joined by "+". */
  readonly kind: string;
  readonly kinds: readonly KindName[];
  readonly requests: readonly Request[];
  /** The state at the start. */
  readonly world: World;
  /** The changes that all requests together should make. */
  readonly changes: readonly string[];
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
  /** How an assistant of this mind goes about it. */
  solve(mind: Mind): Plan;
}

/** The least number of requests in which a pair of these kinds that is kept for the challenge split can occur; Infinity if none can. */
export function challengeLength(kinds: readonly KindName[]): number {
  const position = new Map(kinds.filter((name) => !isFollowUp(name)).map((name) => [name, 1]));
  for (const [name, at] of position) {
    for (const next of kinds) if (!position.has(next) && canFollow(name, next)) position.set(next, at + 1);
  }
  const firsts = kinds.filter((first) => kinds.some((second) => canFollow(first, second) && isHeldOut(first, second)));
  return Math.min(...firsts.map((first) => 1 + (position.get(first) ?? Number.POSITIVE_INFINITY)));
}

/** The task of a split and index. The splits draw from streams of their own. */
export function drawTask(settings: OfficeSettings, split: Split, index: number): OfficeTask {
  const random = randomStream(0, "office", split, index);
  for (;;) {
    const kinds = drawKinds(settings, split, random);
    for (let attempt = 0; attempt < attempts; attempt++) {
      const task = tryTask(settings, kinds, random);
      if (task !== undefined) return { ...task, id: `${split}/${index}` };
    }
  }
}

/** Worlds for one list of kinds. A follow-up seldom fits the first (its antecedent may be refused there), nearly always one of these. */
const attempts = 10;

function drawKinds({ kinds, requests }: OfficeSettings, split: Split, random: Random): KindName[] {
  const min = split === "challenge" ? Math.max(challengeLength(kinds), requests.min) : requests.min;
  const count = min + random.integer(requests.max - min + 1);
  for (;;) {
    const names: KindName[] = [];
    while (names.length < count) names.push(drawNext(kinds, names.at(-1), random));
    const unseen = names.some((name, i) => i > 0 && isHeldOut(names[i - 1], name));
    if (unseen === (split === "challenge")) return names;
  }
}

/** A follow-up half of the time, where there is one. */
function drawNext(kinds: readonly KindName[], before: KindName | undefined, random: Random): KindName {
  const followUps = kinds.filter((name) => isFollowUp(name) && before !== undefined && canFollow(before, name));
  return random.pick(followUps.length > 0 && random.chance(0.5) ? followUps : kinds.filter((name) => !isFollowUp(name)));
}

/** A task with requests of these kinds, in this order; undefined where one of them does not fit what was drawn before it. */
function tryTask(settings: OfficeSettings, names: readonly KindName[], random: Random): Omit<OfficeTask, "id"> | undefined {
  const world = drawWorld(random, settings.size);
  const plan = cloneWorld(world);
  const tools = toolsOn(plan);
  const perfect: Mind = { slips: () => false };
  const used: string[] = [];
  const requests: Request[] = [];
  let topic: Topic = {};
  for (const name of names) {
    const kind = kindOf(name);
    const before = cloneWorld(plan);
    const draft = kind.draw({ world: plan, random, topic });
    if (draft === undefined) return undefined;
    const solve = (mind: Mind) => closed(isFollowUp(name) ? draft.solve(mind) : afresh(draft, mind));
    const closing = follow(solve(perfect), draft.meant, (tool, args) => {
      used.push(tool);
      const result = tools.find((candidate) => candidate.name === tool)?.execute(args, { signal: neverAborted });
      return typeof result === "string" ? result : JSON.stringify(result);
    });
    const text = phrase(kind, draft.words, random);
    requests.push({ kind: name, text, meant: draft.meant, changes: changesBetween(before, plan), closing, solve });
    topic = isRefusal(closing) ? {} : (draft.topic ?? {});
  }
  if (random.chance(settings.busy)) world.busy = random.pick(used);
  return { kind: names.join("+"), kinds: names, requests, world, changes: changesBetween(world, plan) };
}

/** A request that builds on nothing leaves no earlier person or thing to be talked about. */
function* afresh(draft: Draft, mind: Mind): Plan {
  mind.contact = undefined;
  mind.event = undefined;
  mind.file = undefined;
  return yield* draft.solve(mind);
}

const neverAborted = new AbortController().signal;

/** Runs a plan to its end, with the user's answer to every question. */
function follow(
  plan: Plan,
  answer: string | undefined,
  callTool: (name: string, args: Readonly<Record<string, unknown>>) => string,
): string {
  let step = plan.next();
  while (!step.done) {
    step = plan.next(typeof step.value === "string" ? (answer ?? "") : callTool(step.value.name, step.value.arguments));
  }
  return step.value;
}

function phrase(kind: Kind, words: Readonly<Record<string, string | number>>, random: Random): string {
  return random.pick(kind.phrasings).replace(/\{(\w+)\}/g, (_, gap: string) => String(words[gap]));
}

/** True for words that say that something could not be done. */
export function isRefusal(words: string): boolean {
  return /\b(sorry|cannot|can't|can not|unable|not enough|not found|no such|could not|couldn't|does not exist|doesn't exist)\b/i.test(
    words,
  );
}
