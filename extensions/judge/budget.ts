import { RewardError } from "../../src/rewards/reward.ts";
import type { RewardLimits } from "../../src/rewards/reward-kind.ts";
import { added, type Ledger, type Usage } from "./ledger.ts";

/** Keeps a run's judges from spending more than was allowed. Questions in flight may still end: tokens are known only afterwards. */
export class Budget {
  readonly #limits: RewardLimits;
  /** The ledgers of processes before this one, for what they have spent. */
  readonly #before: readonly Ledger[];
  #spent: Usage | undefined;

  constructor(limits: RewardLimits, before: readonly Ledger[]) {
    this.#limits = limits;
    this.#before = before;
  }

  /** One more call. @throws RewardError where there is nothing left */
  take(judge: string): void {
    const spent = this.#current();
    const tokens = spent.promptTokens + spent.completionTokens;
    check(judge, "calls", spent.calls, this.#limits.judgeCalls, "judgeCalls");
    check(judge, "tokens", tokens, this.#limits.judgeTokens, "judgeTokens");
    this.add({ calls: 1, promptTokens: 0, completionTokens: 0 });
  }

  add(usage: Usage): void {
    this.#spent = added(this.#current(), usage);
  }

  #current(): Usage {
    this.#spent ??= this.#before.map(({ spent }) => spent).reduce(added);
    return this.#spent;
  }
}

function check(judge: string, what: string, spent: number, limit: number | undefined, setting: string): void {
  if (limit === undefined || spent < limit) return;
  throw new RewardError(judge, `over its budget: the run's judges have used ${spent} ${what}`, {
    expected: `fewer than limits.${setting}, ${limit}`,
    hint: `Finished steps are kept, and answers too: continue with --resume --set limits.${setting}=…`,
  });
}
