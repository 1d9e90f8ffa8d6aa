import { tinkerCapabilities } from "../extensions/tinker/engine/capabilities.ts";
import { linearForms } from "../extensions/tinker/engine/linear-form.ts";
import type { Capability } from "../src/core/policy.ts";

/** A server that was probed, and what the probe found there. The tests probe it again where it runs. */
export interface ProbedServer {
  readonly name: string;
  readonly findings: {
    /** Name of the linear loss that it computes exactly. */
    readonly form: string;
    readonly adam: boolean;
    readonly clips: boolean;
    readonly topLogprobs: boolean;
  };
  /** Where it was probed. */
  readonly measured: string;
}

/** The order is that of the table in docs/tinker.md. */
export const probedServers: readonly ProbedServer[] = [
  {
    name: "ours, serve-tinker",
    findings: { form: linearForms[0].name, adam: true, clips: true, topLogprobs: true },
    measured: "test/tinker-engine.test.ts, in every run of CI",
  },
  {
    name: "SkyRL 0.4.0, JAX",
    findings: { form: linearForms[1].name, adam: true, clips: false, topLogprobs: false },
    measured: "test/tinker-skyrl.contract.test.ts, on a CPU",
  },
];

/** Returns what a run can ask for on a server with these findings. */
export function capabilitiesOf({ findings }: ProbedServer): Capability[] {
  const form = linearForms.find(({ name }) => name === findings.form);
  const { adam, clips, topLogprobs } = findings;
  return tinkerCapabilities({ accumulates: form?.accumulates ?? false, adam, clips, topLogprobs });
}
