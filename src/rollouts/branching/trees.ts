import type { Chat } from "../../chat/chat.ts";
import { isScored } from "../../core/outcome.ts";
import { present } from "../../core/present.ts";
import { randomStream } from "../../core/random.ts";
import type { BranchDecision, Group, Trajectory, TrajectoryId } from "../../core/trajectory.ts";
import type { SampledAction, Sampler } from "../../engines/engine.ts";
import type { Environment, Task } from "../../environments/environment.ts";
import { type Begun, type EpisodeState, type PendingAction, tokenActor } from "../actors/token-actor.ts";
import { opened } from "../answers.ts";
import { close, startEpisode } from "../ask.ts";
import type { RolloutOptions } from "../options.ts";
import { type EpisodeStart, playOut } from "../play.ts";
import type { GroupsOptions } from "../rollout.ts";
import { allSettled, TaskGroup } from "../task-group.ts";
import { withinLimit } from "../within-limit.ts";
import { candidates, entropyOf, tokenEntropies } from "./entropy.ts";
import { type Copy, copied, copyOf, forkingOf, replay } from "./fork.ts";
import { LeafLedger } from "./ledger.ts";
import type { ForkPoint } from "./rule-kind.ts";
import { branches, choosingRuleOf } from "./rules.ts";
import { type Branching, firstRolloutsOf } from "./settings.ts";

export interface TreesOptions extends GroupsOptions {
  readonly branching: Branching;
}

/**
 * Adaptive rollouts of every task, ARPO (arXiv:2507.19849, §3.1): N rollouts from the root, which branch where the model grows unsure
 * after a tool result, until a task has `groupSize` leaves. What is left when all paths have ended is rolled out from the root.
 *
 * Where an episode has no tools, the environment's reply to a message is such a result: games are played by messages.
 *
 * A fork begins before the action that follows a tool result, once that action's first tokens have shown the entropy: the ways on
 * from there are independent samples of one context. A rule that chooses once the N rollouts have ended forks inside of actions: the
 * environment is restored to before the action, and the action's first tokens are kept. Seed and ids alone decide, whatever answers
 * first; without a branch the result is that of `rolloutGroups`.
 * @returns one group for each task, in the order of the tasks; its trajectories are the leaves, as they were begun
 * @throws as `rolloutGroups`
 */
export async function rolloutTrees<T extends Task>(
  sampler: Sampler,
  chat: Chat,
  environment: Environment<T>,
  tasks: readonly T[],
  { name, concurrency, signal, ...options }: TreesOptions,
): Promise<Group[]> {
  const taskGroup = new TaskGroup(concurrency, signal);
  const parts = { sampler, chat, environment, taskGroup, options };
  return allSettled(tasks.map((task, index) => new Tree(parts, task, `${name}/${index}`).grow()));
}

interface Parts<T extends Task> {
  readonly sampler: Sampler;
  readonly chat: Chat;
  readonly environment: Environment<T>;
  readonly taskGroup: TaskGroup;
  readonly options: Omit<TreesOptions, "name" | "concurrency" | "signal">;
}

/** A leaf in the making. */
interface Path {
  readonly index: number;
  readonly id: TrajectoryId;
  /** H_0, from its first action on. */
  initialEntropy: number | undefined;
  /** Requests and forks that will need what the sampler's cache holds of it. */
  readers: number;
  ended: boolean;
}

/** A path that would branch or may be chosen to, and the state from which its forks would continue. */
interface ForkRequest {
  readonly path: Path;
  readonly state: EpisodeState;
  /** The decision in the path's turn: how many forks it was granted is written there. */
  readonly decision: { -readonly [Key in keyof BranchDecision]: BranchDecision[Key] };
  readonly by: "clone" | "replay";
  /** The environment as it was there; undefined where it is replayed. */
  readonly snapshot: Copy | undefined;
}

/** An action of a first rollout, until forks are chosen. */
interface Candidate extends ForkRequest {
  readonly action: SampledAction;
}

/** A path to be begun where another is forked, and the first tokens of the action where the fork is inside of it. */
interface Way {
  readonly index: number;
  readonly begun?: Begun;
}

/** The rollouts of one task. All state of a call is in here. */
class Tree<T extends Task> {
  readonly #parts: Parts<T>;
  readonly #task: T;
  readonly #id: string;
  readonly #ledger: LeafLedger<ForkRequest>;
  readonly #firstRollouts: number;
  readonly #jobs: Promise<Trajectory>[] = [];
  readonly #closing: Promise<void>[] = [];
  /** Until forks are chosen, where they are chosen at all. */
  #candidates: Candidate[] | undefined;

  constructor(parts: Parts<T>, task: T, id: string) {
    this.#parts = parts;
    this.#task = task;
    this.#id = id;
    const { groupSize: budget, branching } = parts.options;
    this.#firstRollouts = firstRolloutsOf(branching, budget);
    if (choosingRuleOf(branching.rule) !== undefined) this.#candidates = [];
    const paused = typeof branching.firstRollouts === "object" || this.#candidates !== undefined;
    this.#ledger = new LeafLedger({ budget, firstRollouts: this.#firstRollouts, beam: branching.beam, paused });
  }

  async grow(): Promise<Group> {
    for (let index = 0; index < this.#firstRollouts; index++) this.#root(index);
    if (typeof this.#parts.options.branching.firstRollouts === "object") await this.#beginOthers();
    if (this.#candidates !== undefined) await this.#chooseForks(this.#candidates);
    // Paths begin others while they are awaited, at the latest when they end.
    for (let settled = 0; settled < this.#jobs.length; settled++) await Promise.allSettled([this.#jobs[settled]]);
    await Promise.all(this.#closing);
    return { id: this.#id, trajectories: await allSettled(this.#jobs) };
  }

  /** The first rollout has ended: its entropies say how many begin beside it. */
  async #beginOthers(): Promise<void> {
    const { branching, groupSize } = this.#parts.options;
    const first = await this.#jobs[0]?.catch(() => undefined); // `grow` throws it
    for (const index of this.#ledger.begin(firstRolloutsOf(branching, groupSize, first?.turns))) this.#root(index);
    this.#grant();
  }

  /** The first rollouts have ended. */
  async #chooseForks(candidates: readonly Candidate[]): Promise<void> {
    const { options, chat } = this.#parts;
    const { rule, entropy, beam } = options.branching;
    const ended = await Promise.allSettled(this.#jobs);
    this.#candidates = undefined;
    const rollouts = ended.map((played, index) =>
      played.status === "fulfilled" && isScored(played.value) ? candidates.filter(({ path }) => path.index === index) : [],
    );
    const actions = rollouts.map((places) =>
      places.map(({ action }) => ({
        entropies: tokenEntropies(action, entropy),
        texts: action.tokens.map((token) => chat.tokenizer.decode([token])),
      })),
    );
    const budget = options.groupSize - this.#firstRollouts;
    const points = choosingRuleOf(rule)?.choose(actions, Math.ceil(budget / (beam - 1)), rule) ?? [];
    const forks = points.flatMap((point) => new Array<ForkPoint>(beam - 1).fill(point)).slice(0, budget);
    const ways = new Map<Candidate, Way[]>(candidates.map((candidate) => [candidate, []]));
    for (const [i, index] of this.#ledger.begin(this.#firstRollouts + forks.length).entries()) {
      const { rollout, action, kept } = present(forks[i], "a fork");
      const candidate = present(rollouts[rollout]?.[action], "an action that was played");
      ways.get(candidate)?.push({ index, begun: beginningOf(candidate.action, kept) });
    }
    for (const [candidate, own] of ways) {
      candidate.decision.branch = own.length > 0;
      this.#fork(candidate, own);
    }
    this.#grant();
  }

  #root(index: number): void {
    const { environment } = this.#parts;
    this.#begin(this.#path(index), (options) => ({
      open: async () => opened(await startEpisode(environment, this.#task, options)),
    }));
  }

  #path(index: number, initialEntropy?: number): Path {
    return { index, id: `${this.#id}/${index}`, initialEntropy, readers: 0, ended: false };
  }

  #begin(path: Path, beginning: (options: RolloutOptions) => EpisodeStart, parent?: ForkRequest & Omit<Way, "index">): void {
    const { chat, environment, taskGroup, options } = this.#parts;
    const whole = { ...options, id: path.id, group: this.#id, signal: taskGroup.signal };
    const kept = parent?.begun && { kept: parent.begun.tokens.length };
    const forked = parent && { from: parent.path.id, turn: parent.state.turns.length, ...kept, by: parent.by };
    let reads = parent?.path;
    const begun = () => {
      if (reads !== undefined) this.#read(reads, -1);
      reads = undefined;
    };
    const job = async () => {
      const ownSampler = this.#samplerOf(path, begun);
      const onAction = (pending: PendingAction) => this.#decide(path, pending, forked?.turn);
      const actor = tokenActor(ownSampler, chat, { from: parent?.state, begun: parent?.begun, onAction });
      const from = beginning(whole);
      try {
        const played = await withinLimit(environment, () => playOut(actor, this.#task, from, whole));
        const trajectory = forked === undefined ? played : { ...played, branch: forked };
        options.onTrajectory?.(trajectory);
        return trajectory;
      } finally {
        begun();
        path.ended = true;
        this.#read(path, 0);
        this.#ledger.ended(path.index);
        this.#grant();
      }
    };
    const running = taskGroup.run(job, { urgent: parent !== undefined });
    running.catch(() => {}); // `grow` throws it, once all have ended
    this.#jobs[path.index] = running;
  }

  /** The sampler as a path sees it. Its cache is kept as long as forks are to begin with it. */
  #samplerOf(path: Path, begun: () => void): Sampler {
    const { sampler, options } = this.#parts;
    const extra = options.branching.entropy === "top-10" ? { topLogprobs: candidates } : {};
    return {
      info: sampler.info,
      get weightVersion() {
        return sampler.weightVersion;
      },
      sample: async (request) => {
        const action = await sampler.sample({ ...request, ...extra });
        begun();
        return action;
      },
      release: () => this.#read(path, 0),
    };
  }

  #read(path: Path, change: number): void {
    path.readers += change;
    if (path.ended && path.readers === 0) this.#parts.sampler.release(path.id);
  }

  #decide(
    path: Path,
    { live, state, action }: PendingAction,
    forkedAt: number | undefined,
  ): BranchDecision | undefined | Promise<BranchDecision | undefined> {
    const { sampler, environment, options } = this.#parts;
    const { tokens, entropy: kind, rule } = options.branching;
    const turn = state.turns.length;
    const entropy = () => entropyOf(action, kind, { tokens, vocabularySize: sampler.info.vocabularySize });
    path.initialEntropy ??= entropy();
    const choosing = this.#candidates;
    const before = state.turns.at(-1);
    // Without tools an action is a message, and what the environment replies is its result.
    const replied = live.tools.length === 0 && state.messages.at(-1)?.role === "user";
    const afterResult = before !== undefined && (replied || before.toolCalls + before.invalidToolCalls > 0);
    const passed = (decision?: ForkRequest["decision"], request?: Omit<ForkRequest, "path" | "state" | "decision">) => {
      const wanted = decision && request && { path, state, decision, ...request };
      if (wanted !== undefined) this.#read(path, 1);
      if (wanted !== undefined && choosing !== undefined) choosing.push({ ...wanted, action });
      else this.#ledger.passed(path.index, turn, wanted);
      this.#grant();
      return decision;
    };
    if (choosing === undefined && (!afterResult || turn === forkedAt)) return passed();
    const current = entropy();
    const rise = current - path.initialEntropy;
    const branch = branches(
      rule,
      { rise, consecutive: consecutiveBranches(state.turns, forkedAt) },
      randomStream(options.seed, "branch", path.id, turn),
    );
    const decision = { entropy: current, rise, branch, forks: 0 };
    const forking = (branch || choosing !== undefined) && !this.#ledger.full ? forkingOf(environment, live) : undefined;
    if (forking === undefined || "refused" in forking) return passed(decision);
    if (forking.by === "replay") return passed(decision, { by: "replay", snapshot: undefined });
    const snapshot = copyOf(live.episode, options);
    if (!(snapshot instanceof Promise)) return passed(decision, { by: "clone", snapshot });
    return snapshot.then((copy) => passed(decision, { by: "clone", snapshot: copy }));
  }

  #grant(): void {
    for (const { request, forks } of this.#ledger.grant())
      this.#fork(
        request,
        forks.map((index) => ({ index })),
      );
    for (const index of this.#ledger.refill()) this.#root(index);
  }

  #fork(request: ForkRequest, ways: readonly Way[]): void {
    const { environment, chat, options } = this.#parts;
    const { path, state, snapshot } = request;
    request.decision.forks = ways.length;
    const states = snapshot === undefined ? [] : copiesFor(snapshot, ways.length, options);
    for (const [i, { index, ...way }] of ways.entries()) {
      const copy = states[i];
      const open = async (own: RolloutOptions) => {
        if (copy === undefined) return replay(environment, this.#task, chat, state, own);
        if (states.some((state) => state instanceof Promise)) await Promise.all(states);
        return copied(await copy);
      };
      this.#read(path, 1);
      const beginning = (own: RolloutOptions) => ({ from: state, open: () => open(own) });
      this.#begin(this.#path(index, path.initialEntropy), beginning, { ...request, ...way });
    }
    if (ways.length === 0 && snapshot !== undefined && "episode" in snapshot)
      this.#closing.push(close(snapshot.episode, options));
    this.#read(path, -1);
  }
}

function beginningOf({ tokens, logprobs, entropies }: SampledAction, kept: number): Begun {
  return { tokens: tokens.slice(0, kept), logprobs: logprobs.slice(0, kept), entropies: entropies.slice(0, kept) };
}

/** One state for each fork: the snapshot itself is for the first. It is not used before the others' copies of it are made. */
function copiesFor(snapshot: Copy, forks: number, limits: Parameters<typeof copyOf>[1]): (Copy | Promise<Copy>)[] {
  return Array.from({ length: forks }, (_, i) => (i === 0 || "error" in snapshot ? snapshot : copyOf(snapshot.episode, limits)));
}

/** The number of turns directly before an action at which the rule branched, or at which the path itself was forked. */
function consecutiveBranches(turns: EpisodeState["turns"], forkedAt: number | undefined): number {
  const last = turns.findLastIndex(({ branching }, turn) => branching?.branch !== true && turn !== forkedAt);
  return turns.length - 1 - last;
}
