import { EngineError } from "../../../src/core/errors.ts";
import { host } from "../../../src/core/host.ts";
import type { TokenId } from "../../../src/core/trajectory.ts";
import type { SampledAction, SampleRequest, SamplerStats } from "../../../src/engines/engine.ts";
import type { SessionOptions } from "../machine/device.ts";
import { GrowableFloats } from "../machine/growable.ts";
import { Turns } from "../machine/turns.ts";
import type { Arrays } from "../model/arrays.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { Placed } from "../training/parameter-store.ts";
import { needsLogits, numbersDrawn } from "./choose.ts";
import { DeviceSampling, staysOnDevice } from "./device-sampling.ts";
import { cacheBytesOfToken, type Entries } from "./entries.ts";
import { PrefixCache } from "./prefix-cache.ts";
import {
  adopt,
  byToken,
  cancelled,
  checkRequest,
  drawToken,
  isTwin,
  type LocalAction,
  markCached,
  newRow,
  type Row,
  sharedWith,
} from "./row.ts";
import { RowPools, shortestClass } from "./row-pools.ts";
import { SamplingGraph, type SamplingOptions, type StepOutputs } from "./sampling-graph.ts";
import { prefillCacheBytes, prefillChunk, prefillTokens, stepInputs } from "./step-inputs.ts";

export interface SamplerOptions extends SessionOptions, Pick<SamplingOptions, "weights" | "rounded" | "weightsAsInputs"> {
  /** Actions sampled side by side. */
  readonly slots: number;
  /** Longest sequence, context and action together. */
  readonly maxLength: number;
  /**
   * Bytes for keys and values of rollouts that wait for their next turn; the oldest make room, and are computed again. What a slot holds too
   * is dropped where slots and waiting rollouts together take more.
   */
  readonly cacheBytes: number;
  /** Tokens of the shortest class of rows that are decoded together; decided by what a step reads if left out. */
  readonly shortestClass?: number;
  /** Parameters that are on the provider's device already, in place of the sampler's. */
  readonly placed?: () => Promise<Placed>;
  /** Text of an action so far, for stop strings. */
  readonly decode: ((tokens: readonly TokenId[]) => string) | undefined;
}

/** A prompt shared with another row is worth waiting for from this many tokens. */
const worthSharing = 8;

/**
 * Continuous batching over many requests: a row that ends frees its slot for the next at once. Contexts that continue what is
 * cached (the same rollout's last turn, another rollout's prompt) are computed only from where they differ. Rows of one context, such as
 * those of a group, are one row until they draw different tokens.
 *
 * Between steps the event loop runs once, so that rollouts which were answered can send their next request; then the order of
 * requests, and with it every batch, is the same in every run.
 */
export class LocalSampler {
  readonly #config: ModelConfig;
  readonly #options: SamplerOptions;
  readonly #prefixes: PrefixCache;
  #parameters: Arrays;
  #graph: SamplingGraph | undefined;
  /** In place of a graph that is closed by updates. */
  readonly #device: DeviceSampling | undefined;
  #weightVersion: number;
  #waiting: Row[] = [];
  /** Those in slots, with their keys and values. */
  readonly #rows: RowPools<Row>;
  /** Rows that were cancelled, and are still where they were: they leave between two runs, so that nothing moves beside one. */
  readonly #cancelled = new Set<Row>();
  /** Memory of a run's inputs, kept from run to run while actions are being sampled. */
  readonly #scratch = { mask: new GrowableFloats(), cache: new GrowableFloats() };
  readonly #turns = new Turns();
  #running: Promise<void> | undefined;
  #stats = { sampledTokens: 0, prefilledTokens: 0, seconds: 0 };

  constructor(config: ModelConfig, parameters: Arrays, weightVersion: number, options: SamplerOptions) {
    this.#config = config;
    this.#parameters = parameters;
    this.#weightVersion = weightVersion;
    this.#options = options;
    const { provider = "cpu" } = options;
    if (staysOnDevice(config, options)) this.#device = new DeviceSampling(config, { ...options, provider });
    this.#rows = new RowPools(
      config,
      options.shortestClass ?? shortestClass(config, options),
      () => this.heldBytes > options.cacheBytes,
      this.#device,
    );
    this.#prefixes = new PrefixCache(config.kvHeads, options.cacheBytes);
  }

  /** @throws EngineError while requests are in flight */
  requireIdle(): void {
    if (this.#inFlight > 0) {
      throw new EngineError("weights", "changed while actions are being sampled", {
        hint: "Await or cancel all sampling before an optimiser step: otherwise an action would be drawn from two policies.",
      });
    }
  }

  /** Takes new weights. Everything cached under the old ones is dropped. @throws EngineError while requests are in flight */
  async update(parameters: Arrays, weightVersion: number): Promise<void> {
    this.requireIdle();
    await this.#running; // what was cancelled last may still be in the middle of a run
    await this.#closeGraph();
    await this.#device?.update(parameters);
    this.#parameters = parameters;
    this.#weightVersion = weightVersion;
    this.#prefixes.clear();
  }

  /** Gives the session's memory back where nothing is sampled and no rollout will come back. The next action opens another one. */
  async rest(): Promise<void> {
    await this.#running;
    if (this.#prefixes.users + this.#inFlight === 0) await this.#closeGraph();
  }

  async #closeGraph(): Promise<void> {
    const graph = this.#graph;
    this.#graph = undefined;
    await graph?.close();
  }

  sample(request: SampleRequest): Promise<LocalAction> {
    const { maxLength, decode } = this.#options;
    const limits = { maxLength, vocabSize: this.#config.vocabSize, decode };
    checkRequest(request, limits);
    return new Promise((resolve, reject) => {
      const cancel = () => this.#cancel(row);
      const settled =
        <T>(settle: (outcome: T) => void) =>
        (outcome: T) => {
          request.signal?.removeEventListener("abort", cancel);
          settle(outcome);
        };
      const row = newRow(request, limits, { resolve: settled(resolve), reject: settled(reject) });
      if (request.signal?.aborted) return reject(cancelled());
      if (request.signal !== undefined) host.expectListeners(request.signal);
      request.signal?.addEventListener("abort", cancel);
      this.#waiting.push(row);
      this.#running ??= this.#run();
    });
  }

  release(cacheKey: string): void {
    this.#prefixes.release(cacheKey);
    if (this.#device === undefined || this.#running === undefined) this.#forget(); // not beside a run on a device: its end does
  }

  /** Bytes of keys and values that are held, of those being sampled and of those that wait. */
  get heldBytes(): number {
    return this.#rows.bytes + this.#prefixes.bytes;
  }

  takeStats(): SamplerStats {
    const stats = this.#stats;
    this.#stats = { sampledTokens: 0, prefilledTokens: 0, seconds: 0 };
    return stats;
  }

  async close(): Promise<void> {
    this.#rejectAll(cancelled());
    await this.#running;
    await this.#closeGraph();
    this.#prefixes.clear();
    await this.#device?.close();
  }

  async #run(): Promise<void> {
    try {
      await host.nextTurn();
      while (this.#inFlight > 0) {
        const start = performance.now();
        const graph = await this.#open();
        await this.#settle();
        await this.#admit();
        const filling = this.#rows.rows.filter((row) => row.pending.length > 1);
        // Prompts are fed together: a run for every single row that comes back from a tool would cost as much as a decoding step.
        if (filling.length > 0 && filling.length >= this.#rows.size / 8) await this.#prefill(graph, filling);
        else await this.#decode(graph);
        this.#stats.seconds += (performance.now() - start) / 1000;
        await host.nextTurn();
      }
      this.#forget();
    } catch (error) {
      this.#rejectAll(error);
    } finally {
      this.#takeOutCancelled();
      this.#rows.clear();
      for (const floats of Object.values(this.#scratch)) floats.resize(0);
      this.#device?.rest();
      this.#running = undefined;
    }
  }

  async #open(): Promise<SamplingGraph> {
    if (this.#device !== undefined) return this.#device.open(this.#parameters);
    return (this.#graph ??= await SamplingGraph.open(this.#config, this.#parameters, this.#options));
  }

  /** Rows in slots, with those that share one. */
  get #present(): Row[] {
    return this.#rows.rows.flatMap((row) => [row, ...row.twins]);
  }

  get #inFlight(): number {
    return [...this.#waiting, ...this.#present].filter((row) => !this.#cancelled.has(row)).length;
  }

  #rejectAll(error: unknown): void {
    for (const row of [...this.#waiting, ...this.#present]) this.#cancel(row, error);
  }

  /** Fills free slots. A row starts with the longest prefix of its context that its rollout or any other left in the cache. */
  async #admit(): Promise<void> {
    const admitted = this.#waiting.slice(0, Math.max(0, this.#options.slots - this.#present.length));
    const tokensOf = ({ request }: Row) => request.context.length + 1;
    const bytes = cacheBytesOfToken(this.#config) * admitted.reduce((sum, row) => sum + tokensOf(row), 0);
    // One by one where memory is short: what each has in a slot is dropped before the next one gets its own.
    const together = this.#prefixes.bytes + this.#rows.bytes + bytes <= this.#options.cacheBytes;
    for (const some of together ? [admitted] : admitted.map((row) => [row])) {
      const added = this.#rows.add(some.map((row) => ({ row, tokens: tokensOf(row) })));
      this.#waiting.splice(0, some.length);
      await added;
      for (const row of some) await this.#continue(row);
      this.#prefixes.makeRoom(this.#rows.bytes);
    }
  }

  /** Puts what is cached of a row's context into its slot. */
  async #continue(row: Row): Promise<void> {
    const { context, cacheKey } = row.request;
    // The last token is always fed: it gives the first distribution.
    const found = this.#prefixes.longest(context.slice(0, -1));
    for (const { segment, count } of found) {
      await this.#rows.put(row, segment, count);
      markCached(row, row.tokens.length + count);
    }
    if (cacheKey !== undefined && row.tokens.length === this.#prefixes.lengthOf(cacheKey)) this.#prefixes.isInSlot(cacheKey);
  }

  /** Feeds all pending tokens of some rows, prompts that several share once. */
  async #prefill(graph: SamplingGraph, filling: readonly Row[]): Promise<void> {
    const leaders: Row[] = [];
    const followers: { row: Row; leader: Row }[] = [];
    for (const row of filling) {
      const twin = leaders.find((l) => isTwin(row, l));
      if (twin !== undefined) {
        this.#rows.remove(row);
        twin.twins = [...twin.twins, row, ...row.twins];
        continue;
      }
      const leader = leaders.find((l) => sharedWith(row, l.request.context) >= row.tokens.length + worthSharing);
      if (leader) followers.push({ row, leader });
      else leaders.push(row);
    }
    await this.#rows.settle();
    const classOf = ({ tokens }: Row) => this.#rows.classOf(tokens.length + 1);
    leaders.sort((a, b) => classOf(a) - classOf(b) || a.pending.length - b.pending.length);
    for (let start = 0; start < leaders.length; ) {
      let end = start + 1;
      while (end < leaders.length && classOf(leaders[end]) === classOf(leaders[start])) {
        const [rows, longest] = [end + 1 - start, Math.max(...leaders.slice(start, end + 1).map((row) => row.tokens.length))];
        if (rows * leaders[end].pending.length > prefillTokens) break;
        if (rows * longest * cacheBytesOfToken(this.#config) > prefillCacheBytes) break;
        end++;
      }
      const some = leaders.slice(start, end);
      const share = (row: Row) => this.#share(row, followers);
      const chunk = prefillChunk(this.#config.heads, some.length, Math.max(...some.map((row) => row.tokens.length)));
      await this.#feed(graph, some, Math.min(chunk, leaders[end - 1].pending.length), share);
      start = end;
    }
  }

  /** Gives a row's followers what it has cached of their prompts. */
  async #share(leader: Row, followers: readonly { readonly row: Row; readonly leader: Row }[]): Promise<void> {
    for (const { row } of followers.filter((follower) => follower.leader === leader)) {
      if (!this.#rows.has(row)) continue; // cancelled
      const shared = Math.min(sharedWith(row, leader.tokens), leader.tokens.length);
      if (shared <= row.tokens.length) continue;
      await this.#rows.copy(leader, row, shared);
      markCached(row, shared);
    }
  }

  /**
   * One run over the next tokens of some rows, at most `chunk` each. Rows that have nothing left to feed draw a token.
   * @param share called with each row when its tokens are cached: a row whose first token ends it is gone after that
   */
  async #feed(graph: SamplingGraph, rows: readonly Row[], chunk: number, share: (row: Row) => Promise<void>): Promise<void> {
    const present = rows.filter((row) => this.#rows.has(row)); // others were cancelled during an earlier run
    if (present.length === 0) return;
    const longest = Math.max(1, ...present.map((row) => row.tokens.length));
    for (const row of present) await this.#rows.reserve(row, row.tokens.length + row.pending.length);
    const isLong = present.length === 1 && longest * cacheBytesOfToken(this.#config) > prefillCacheBytes;
    const cached = (isLong ? this.#rows.viewOf(present[0]) : undefined) ?? {
      capacity: longest,
      ...(await this.#rows.gather(present, longest, this.#scratch.cache)),
    };
    const outputs = await this.#step(graph, present, chunk, cached);
    await this.#settle();
    this.#stats.prefilledTokens += present.reduce((sum, row) => sum + Math.min(chunk, row.pending.length), 0);
    await this.#advance(present, chunk, outputs, share);
  }

  /** One token for every row that has one pending token; rows with more keep their place and wait. Each class of lengths is a run. */
  async #decode(graph: SamplingGraph): Promise<void> {
    const { rows: present } = this.#rows;
    for (const row of present) await this.#rows.reserve(row, row.tokens.length + 1);
    const steps: { readonly rows: readonly Row[]; readonly outputs: StepOutputs }[] = [];
    for (const { rows, capacity, cache, view } of this.#rows.pools()) {
      if (rows.every((row) => row.pending.length > 1)) continue;
      const step = () => this.#step(graph, rows, 1, { capacity, ...view() }, steps.length);
      steps.push({ rows, outputs: await (this.#device?.decode(rows, cache) ?? step()) });
    }
    await this.#settle();
    // Only now: a row that ends frees its slot, and what its rollout does next is the same however many runs there were.
    for (const { rows, outputs } of steps) await this.#advance(rows, 1, outputs);
  }

  async #step(
    graph: SamplingGraph,
    rows: readonly Row[],
    chunk: number,
    { capacity, ...cached }: Entries & { readonly capacity: number },
    place?: number,
  ): Promise<StepOutputs> {
    const inputs = stepInputs(rows, chunk, capacity, this.#scratch.mask);
    const logits = rows.some((row) => needsLogits(row.choice));
    return graph.step({ ...inputs, ...cached }, { logits, place });
  }

  /** Caches what was fed, and draws a token for every row that has nothing left to feed. */
  async #advance(
    rows: readonly Row[],
    chunk: number,
    outputs: StepOutputs,
    share: (row: Row) => Promise<void> = async () => {},
  ): Promise<void> {
    // Not a prompt that a decoding step passed by, nor what was cancelled meanwhile.
    const fed = rows.flatMap((row, r) => {
      const waits = chunk === 1 && row.pending.length > 1;
      return waits || !this.#rows.has(row) ? [] : [{ of: row, row: r, count: Math.min(chunk, row.pending.length) }];
    });
    if (outputs.made) await this.#rows.append(fed, outputs.made);
    for (const { of: row, count } of fed) markCached(row, row.tokens.length + count); // a row that ends moves another's slot
    for (const { of: row, row: r } of fed) {
      await share(row);
      if (row.pending.length === 0) await this.#draw(row, r, outputs);
    }
  }

  /** Draws a token for a row and each of its twins from line `r` of a step's outputs. */
  async #draw(row: Row, r: number, outputs: StepOutputs): Promise<void> {
    const { vocabSize } = this.#config;
    const named = this.#device === undefined ? this.#parameters : undefined;
    const drawn: { readonly one: Row; readonly finish: SampledAction["finish"] | undefined }[] = [];
    for (const one of [row, ...row.twins]) {
      if (this.#cancelled.has(one)) continue;
      drawn.push({ one, finish: drawToken(one, r, outputs, vocabSize, named) });
      await this.#turns.passed(outputs.drawn?.chosen[r] === undefined ? numbersDrawn(one.choice, vocabSize) : 1);
    }
    this.#stats.sampledTokens += drawn.length;
    const left = drawn.filter(({ one }) => !this.#cancelled.has(one));
    const ended = left.flatMap(({ one, finish }) => (finish === undefined ? [] : [{ one, finish }]));
    for (const { one } of ended) this.#store(one, row);
    await this.#part(
      row,
      left.flatMap(({ one, finish }) => (finish === undefined ? [one] : [])),
    );
    for (const { one, finish } of ended) one.resolve({ ...one.action, finish, weightVersion: this.#weightVersion });
    const stored = ended.some(({ one }) => one.request.cacheKey !== undefined) ? row.tokens.length : 0;
    if (Turns.ofCopies().isOver((stored * cacheBytesOfToken(this.#config)) / Float32Array.BYTES_PER_ELEMENT))
      await host.nextTurn();
  }

  /** The row in a slot that is a row or has it as a twin. */
  #holderOf(row: Row): Row | undefined {
    return this.#rows.has(row) ? row : this.#rows.rows.find((one) => one.twins.includes(row));
  }

  /** Gives each token that was drawn in a slot a slot of its own. */
  async #part(row: Row, going: readonly Row[]): Promise<void> {
    const [first, ...others] = byToken(going);
    for (const [leader, ...twins] of others) {
      await this.#rows.add([{ row: leader, tokens: row.tokens.length + 1 }]);
      await this.#rows.copy(row, leader, row.tokens.length);
      adopt(leader, row.tokens, twins);
    }
    if (first === undefined) this.#rows.remove(row);
    else this.#handOver(row, first);
    await this.#rows.settle();
    if (others.length > 0) this.#prefixes.makeRoom(this.#rows.bytes);
  }

  /** Gives a row's slot to the first of some rows, with the others as its twins. */
  #handOver(row: Row, [leader, ...twins]: readonly Row[]): void {
    if (leader !== row) this.#rows.replace(row, leader);
    adopt(leader, row.tokens, twins);
  }

  /** Keeps what a row's next turn may begin with. @param holder the row whose slot has its tokens */
  #store({ request: { cacheKey } }: Row, holder: Row): void {
    if (cacheKey !== undefined) this.#prefixes.store(cacheKey, holder.tokens, (from) => this.#rows.take(holder, from));
  }

  /**
   * Clears the cache once nothing is in flight and no rollout will come back: what is sampled next does not depend on what was
   * before.
   */
  #forget(): void {
    if (this.#prefixes.users + this.#inFlight === 0) this.#prefixes.clear();
  }

  #cancel(row: Row, error: unknown = cancelled()): void {
    this.#cancelled.add(row);
    row.reject(error);
  }

  /** Between two runs: frees the slots of what was cancelled. */
  async #settle(): Promise<void> {
    this.#takeOutCancelled();
    await this.#rows.settle();
  }

  #takeOutCancelled(): void {
    for (const row of this.#cancelled) this.#takeOut(row);
    this.#cancelled.clear();
  }

  #takeOut(row: Row): void {
    const holder = this.#holderOf(row);
    if (holder !== undefined && holder !== row) holder.twins = holder.twins.filter((one) => one !== row);
    else if (holder !== undefined && holder.twins.length > 0) this.#handOver(row, row.twins);
    else if (holder !== undefined) this.#rows.remove(row);
    else this.#waiting = this.#waiting.filter((one) => one !== row);
  }
}
