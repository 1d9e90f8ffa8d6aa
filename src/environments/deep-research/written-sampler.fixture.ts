import { testChat } from "../../../test/fixtures/chats.ts";
import { type RolloutOptions, rollout } from "../../agents/rollout.ts";
import type { Sampler } from "../../engines/engine.ts";
import type { Environment } from "../environment.ts";

export const chat = testChat("plain");

/**
 * A sampler that goes on in a prepared text, whatever it reads in between, and stops where a real one would: behind a stop string, at the limit,
 * and with an end of turn at the end of the text.
 */
export function writing(text: string): Sampler {
  let left = text;
  return {
    info: { name: "written", parameters: 0, vocabularySize: 306, maxLength: 100_000, capabilities: [] },
    weightVersion: 0,
    async sample({ stopStrings = [], maxTokens }) {
      const ends = stopStrings.map((stop) => left.indexOf(stop) + stop.length).filter((end, i) => end >= stopStrings[i].length);
      const written = left.slice(0, Math.min(...ends, left.length));
      const whole = chat.tokenizer.encode(ends.length > 0 ? written : `${written}<|im_end|>`);
      left = left.slice(written.length);
      const tokens = whole.slice(0, maxTokens);
      const each = (value: number) => tokens.map(() => value);
      const finish = tokens.length < whole.length ? "length" : "stop";
      return { tokens, logprobs: each(-1), modelLogprobs: each(-1), entropies: each(0.5), finish, weightVersion: 0 };
    },
    release: () => {},
  };
}

const options: RolloutOptions = { id: "r/0", group: "r", seed: 1, maxTurns: 30, maxTokens: 5000, episodeTimeoutMs: 60_000 };

/** An episode of the first training question in which the model writes so; what it and the tools wrote comes with it. */
export async function played(environment: Environment, text: string) {
  const task = await environment.task("train", 0);
  const trajectory = await rollout(writing(text), chat, environment, task, options);
  const { context, action } = trajectory.turns[trajectory.turns.length - 1];
  const opening = trajectory.turns[0].context.length;
  return { ...trajectory, response: chat.tokenizer.decode([...context.slice(opening), ...action]) };
}
