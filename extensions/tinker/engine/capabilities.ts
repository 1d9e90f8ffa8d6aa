import type { Capability } from "../../../src/core/policy.ts";

/** The facts that the probe of a server decides. */
export interface Probed {
  readonly accumulates: boolean;
  readonly adam: boolean;
  readonly clips: boolean;
  readonly topLogprobs: boolean;
}

/** Returns what a Tinker server can do for a run, by what the probe found. */
export function tinkerCapabilities({ accumulates, adam, clips, topLogprobs }: Probed): Capability[] {
  const has: Readonly<Partial<Record<Capability, boolean>>> = {
    reference: true,
    "adam-settings": adam,
    "exact-state": true,
    "gradient-accumulation": accumulates,
    "gradient-clipping": clips,
    "top-logprobs": topLogprobs,
  };
  return (Object.keys(has) as Capability[]).filter((each) => has[each]);
}
