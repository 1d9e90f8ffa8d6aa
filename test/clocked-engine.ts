import { vi } from "vitest";
import { z } from "zod";
import { capabilities } from "../src/core/policy.ts";
import type { SampledAction, SampleRequest } from "../src/engines/engine.ts";
import { addEngines, type EngineDiagnosis } from "../src/engines/registry.ts";
import { lettersVocabulary } from "./letters.ts";
import { TableEngine } from "./table-engine.ts";

/** The token that ends an answer of letters. */
export const end = lettersVocabulary - 1;

/** What the engine "clocked" does in a test, and what it was asked. */
export const clock = {
  says: (_: SampleRequest): Partial<SampledAction> => ({}),
  asked: [] as SampleRequest[],
  disposed: 0,
  purposes: [] as unknown[],
  diagnosis: undefined as Partial<EngineDiagnosis> | undefined,
  /** That of the model's files. */
  vocabulary: lettersVocabulary,
};
const untouched = { ...clock };

/** Begins a test with a clock that only the engine moves. @returns what gives the real one back */
export function startClock(): () => void {
  vi.useFakeTimers({ toFake: ["performance"] });
  Object.assign(clock, untouched, { asked: [], purposes: [] });
  return () => void vi.useRealTimers();
}

/** Says "b" and ends, in a second of its clock. */
export class TimedEngine extends TableEngine {
  override async sample(request: SampleRequest): Promise<SampledAction> {
    clock.asked.push(request);
    vi.advanceTimersByTime(1000);
    const said = { tokens: [1, end], logprobs: [-0.5, 0], entropies: [], finish: "stop", weightVersion: 0 } as const;
    return { ...said, ...clock.says(request) };
  }
  override async logprobs(...given: Parameters<TableEngine["logprobs"]>) {
    vi.advanceTimersByTime(250);
    return super.logprobs(...given);
  }
  override async dispose() {
    clock.disposed++;
  }
}

addEngines({
  clocked: {
    settings: z.object({}),
    capabilities: () => ({ certain: capabilities, possible: capabilities }),
    open: async (_, __, purpose) => {
      clock.purposes.push(purpose);
      return { engine: new TimedEngine(clock.vocabulary), device: "a clock" };
    },
    diagnose: async () => clock.diagnosis as EngineDiagnosis,
  },
});
