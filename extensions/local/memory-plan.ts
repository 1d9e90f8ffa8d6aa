import { estimateMemory, gibibytes, type MemoryUse, passesWhole, totalBytes, weightBytes } from "./memory.ts";
import type { ModelConfig } from "./model/model-config.ts";
import { areInputs } from "./sampling/sampling-graph.ts";
import { passBytes as usualPassBytes } from "./training/pass-sizes.ts";
import { restBytes as usualRestBytes } from "./training/passes.ts";

/** The constants of the engine that follow the memory there is. */
export interface MemoryPlan extends Required<Pick<MemoryUse, "weightsAsInputs" | "passBytes" | "restBytes">> {
  /** The estimate of all that is held. */
  readonly bytes: number;
}

/** The share of the memory that better than usual may take: an estimate is off, and other programs grow. */
const [gib, spare] = [2 ** 30, 0.75];
const usualPasses = { passBytes: usualPassBytes, restBytes: usualRestBytes };
/** Sessions of passes stay open, whatever they held. */
const kept = Number.POSITIVE_INFINITY;
/** A session cannot have more than 2 GiB of constants. */
const maxConstants = 1.75 * gib;

/**
 * Plans what the engine holds. Where memory is short, passes are smaller and the sampler's weights inputs; where there is plenty, the weights of a large model are constants of the sampler, and passes of a large model are made whole instead of layer by layer.
 * Small models get the same plan on every machine that fits them, so that their results do not depend on it.
 * @param available bytes that may be taken
 */
export function planMemory(config: ModelConfig, use: MemoryUse, available: number): MemoryPlan {
  const planned = (plan: Omit<MemoryPlan, "bytes">): MemoryPlan => ({
    ...plan,
    bytes: totalBytes(estimateMemory(config, { ...use, ...plan })),
  });
  const weights = weightBytes(config, use);
  const usual = planned({ weightsAsInputs: areInputs(weights), ...usualPasses });
  if (usual.bytes > available) {
    const short = { ...usual, weightsAsInputs: true };
    const passes = [2, 1, 0.5, 0.25].map((size) => ({ ...short, passBytes: size * gib }));
    const whole = passes.filter((each) => passesWhole(config, { ...use, ...each }));
    // To open a session again takes longer than to make smaller passes.
    const smaller = [...whole.map((each) => ({ ...each, restBytes: kept })), ...passes].map(planned);
    const least = smaller.reduce((best, plan) => (plan.bytes < best.bytes ? plan : best), usual);
    return smaller.find(({ bytes }) => bytes <= available) ?? least;
  }
  const better = (from: MemoryPlan, change: Partial<MemoryPlan>) => {
    const to = planned({ ...from, ...change });
    return to.bytes <= spare * available ? to : from;
  };
  let plan = usual;
  if (weights < maxConstants) plan = better(plan, { weightsAsInputs: false });
  const whole = [usualPassBytes, 4 * gib, 8 * gib, 16 * gib].find((size) => passesWhole(config, { ...use, passBytes: size }));
  if (use.training && whole !== undefined) plan = better(plan, { passBytes: whole });
  return use.training ? better(plan, { restBytes: kept }) : plan;
}

/** The plan in a line for people, as far as it is not the usual one. */
export function planText(config: ModelConfig, use: MemoryUse, plan: MemoryPlan, available: number): string | undefined {
  const { weightsAsInputs, passBytes, bytes } = plan;
  const isUsual = weightsAsInputs === areInputs(weightBytes(config, use));
  const unusual = [
    ...(passBytes === usualPassBytes ? [] : [`passes of ${gibibytes(passBytes)}`]),
    ...(isUsual ? [] : [weightsAsInputs ? "weights held once" : "weights held again to sample"]),
  ];
  return unusual.length === 0 ? undefined : `${unusual.join(", ")}, ${gibibytes(bytes)} of ${gibibytes(available)}`;
}
