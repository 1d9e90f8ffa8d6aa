import { RunError } from "../../../src/core/errors.ts";
import { mean } from "../../../src/core/mean.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import { tokenizerFolder } from "../../../src/runs/tokenizer-files.ts";
import { openChat } from "../../../src/sdk/model.ts";
import { recordedConfig } from "../../../src/sdk/run-environment.ts";
import { number, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import type { IndexPosition } from "../filter.ts";
import { rescoreSince } from "../rescore.ts";
import type { RescoredLogprobs } from "../rescored.ts";

/** Says how the log-probs of an episode have changed since an earlier step, and keeps them for the dashboard. @returns the exit code */
export async function sinceCommand(
  folder: string,
  { line: { source, step } }: IndexPosition,
  episode: Trajectory,
  asked: string,
  screen: Screen,
): Promise<number> {
  const since = Number(asked);
  if (!Number.isInteger(since) || since < 0)
    throw new RunError("--since", asked, { expected: "a step with a checkpoint, or 0 for the model that the run started from" });
  const { rollout, evaluation } = recordedConfig(folder, ["rollout", "evaluation"]);
  const temperature = source === "train" ? rollout.temperature : evaluation.temperature;
  if (episode.group.includes("-greedy/"))
    throw new RunError("the episode", episode.id, {
      expected: "a sampled one",
      hint: "A greedy action has no probability to compare.",
    });
  if (rollout.topP < 1 || rollout.topK > 0)
    throw new RunError("rollout.topP and rollout.topK", `${rollout.topP} and ${rollout.topK}`, {
      expected: "1 and 0",
      hint: "Recorded log-probs are of the distribution that was sampled, which these settings cut off.",
    });
  const [look] = await rescoreSince(folder, [episode], since, temperature);
  const now = source === "train" ? `before step ${step}` : `after step ${step}`;
  const then = since === 0 ? "the model that the run started from" : `the weights after step ${since}`;
  screen.line(`log π of the weights ${now}, less log π of ${then}`);
  const tokenizer = tokenizerFolder(folder);
  const decode = tokenizer === undefined ? (id: number) => `⟨${id}⟩` : textOf(tokenizer);
  if (look !== undefined) for (const line of changeLines(episode, look, decode)) screen.line(line);
  return 0;
}

function textOf(folder: string): (id: number) => string {
  const { tokenizer } = openChat(folder);
  return (id) => tokenizer.decode([id]);
}

/** A line a turn: mean change of its tokens, and those that changed most, up and down. */
export function changeLines({ turns }: Trajectory, { logprobs }: RescoredLogprobs, decode: (id: number) => string): string[] {
  const rows = turns.map(({ turn, action, samplerLogprobs }) => {
    const since = logprobs[turn] ?? [];
    const changes = action.map((token, t) => ({ token, change: (samplerLogprobs[t] ?? 0) - (since[t] ?? 0) }));
    const sorted = changes.toSorted((a, b) => b.change - a.change);
    const named = (of: (typeof changes)[number] | undefined) =>
      of === undefined ? "" : `${JSON.stringify(decode(of.token))} ${of.change > 0 ? "+" : ""}${number(of.change)}`;
    return [String(turn + 1), number(mean(changes.map(({ change }) => change))), named(sorted[0]), named(sorted.at(-1))];
  });
  return table([["turn", "mean", "most up", "most down"], ...rows]);
}
