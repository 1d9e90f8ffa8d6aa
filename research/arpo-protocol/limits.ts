/** Calls that a response may make. */
export interface CallLimits {
  readonly calls: number;
  readonly search: number;
  readonly python: number;
}

/** ARPO's protocol as its published code has it while a model trains, or while it is evaluated. */
export type ProtocolKind = "training" | "evaluation";

/** Three calls together in training; in the evaluation ten searches and five Python calls. */
export function callLimits(kind: ProtocolKind, limits: Partial<CallLimits>): CallLimits {
  const none = Number.POSITIVE_INFINITY;
  const usual = kind === "training" ? { calls: 3, search: none, python: none } : { calls: none, search: 10, python: 5 };
  return {
    calls: limits.calls ?? usual.calls,
    search: limits.search ?? usual.search,
    python: limits.python ?? usual.python,
  };
}
