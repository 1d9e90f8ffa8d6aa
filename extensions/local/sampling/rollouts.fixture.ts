import type { LocalEngine } from "../engine.ts";
import type { LocalAction } from "./row.ts";

export const prompt = [3, 5, 7, 9, 11, 13, 2, 4, 6, 8];

/** Turns of five rollouts: three of one prompt, in one of which another forks off; rows end one after another, and some need their whole distribution. */
export async function rollouts(engine: LocalEngine): Promise<LocalAction[]> {
  const started = [
    { context: prompt, temperature: 1 },
    { context: prompt, temperature: 1 },
    { context: prompt, temperature: 1, topLogprobs: 2 },
    { context: [...prompt, 1], temperature: 0 },
    { context: [...prompt, 2], temperature: 0.7 },
  ];
  const first = await Promise.all(
    started.map((request, i) =>
      engine.sample({ ...request, maxTokens: 3 + 2 * i, stopTokens: [], seed: i, cacheKey: `rollout ${i}` }),
    ),
  );
  const second = await Promise.all(
    first.flatMap(({ tokens }, i) => {
      const context = [...(started[i]?.context ?? []), ...tokens, 1, 2, 3];
      const request = { context, maxTokens: 4, stopTokens: [] };
      return [
        engine.sample({ ...request, seed: 10 + i, cacheKey: `rollout ${i}`, topK: i === 1 ? 5 : 0 }),
        ...(i === 0 ? [engine.sample({ ...request, seed: 20, cacheKey: "fork" })] : []),
      ];
    }),
  );
  return [...first, ...second];
}
