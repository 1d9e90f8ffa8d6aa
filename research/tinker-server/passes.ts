import { HttpError } from "../../extensions/http/http-error.ts";
import type { Datum, ForwardBackwardCall, ForwardBackwardResult } from "../../extensions/tinker/client/data.ts";
import type { Weights } from "../../src/core/policy.ts";
import type { ActionInContext, TokenId } from "../../src/core/trajectory.ts";
import type { Engine } from "../../src/engines/engine.ts";
import type { ServedModel } from "./local-model.ts";
import { evaluateLoss, isLinear, requireLoss } from "./losses.ts";

/** @throws HttpError naming the first thing that this server does not compute */
export function requirePass({ data, lossFn, config }: ForwardBackwardCall, { vocabularySize, maxLength }: ServedModel): void {
  if (data.length === 0) throw new HttpError(422, "data", "empty", { expected: "at least one datum" });
  const inputsOf = data.map(({ inputs = {} }) => inputs);
  requireLoss(lossFn, config, inputsOf);
  data.forEach(({ tokens, targets, inputs = {} }, i) => {
    const refuse = (what: string, value: unknown, expected: string) => {
      throw new HttpError(422, `${what} of datum ${i}`, value, { expected });
    };
    if (tokens.length === 0) refuse("model_input", "empty", "at least one token");
    if (tokens.length >= maxLength) refuse("length", tokens.length, `less than ${maxLength} tokens, the model's length`);
    if (targets.length !== tokens.length) refuse("number of target_tokens", targets.length, `${tokens.length}, one a token`);
    for (const [name, ids] of [["model_input", tokens] as const, ["target_tokens", targets] as const]) {
      const bad = ids.find((id) => !(id >= 0 && id < vocabularySize));
      if (bad !== undefined) refuse(`a token in ${name}`, bad, `0 to ${vocabularySize - 1}`);
    }
    for (const [name, values] of Object.entries(inputs)) {
      if (values.length !== targets.length) refuse(`number of ${name}`, values.length, `${targets.length}, one a target`);
      const bad = values.find((value) => !Number.isFinite(value));
      if (bad !== undefined) refuse(`a number in ${name}`, bad, "finite numbers");
    }
  });
}

/** Runs a pass on an engine. @returns log-probs of the targets in the shape of the request, and the summed loss */
export async function runPass(
  engine: Engine,
  { data, lossFn, config, forwardOnly }: ForwardBackwardCall,
): Promise<ForwardBackwardResult> {
  const runs = data.map((datum, i) =>
    runsOf(datum.tokens, datum.targets).map((run, j) => ({ ...run, sample: sampleOf(datum, run, `${i}`, j) })),
  );
  const samples = runs.flatMap((ofDatum) => ofDatum.map(({ sample }) => sample));
  /** From numbers of each run to numbers of each datum, and back. */
  const gather = (rows: readonly (readonly number[])[]) => {
    let next = 0;
    return runs.map((ofDatum) => {
      const values: number[] = [];
      for (const { at } of ofDatum) {
        const row = rows[next++];
        for (const [j, t] of at.entries()) values[t] = row[j];
      }
      return values;
    });
  };
  const scatter = (rows: Weights) => rows.flatMap((row, i) => runs[i].map(({ at }) => at.map((t) => row[t])));

  let metrics: Record<string, number> = {};
  const weigh = (logprobs: readonly (readonly number[])[]): Weights => {
    const evaluated = logprobs.map((row, i) => {
      const { inputs = {} } = data[i];
      return evaluateLoss(lossFn, { logprobs: row, inputs, config });
    });
    metrics = { "loss:sum": evaluated.reduce((sum, each) => sum + each.loss, 0) };
    return evaluated.map(({ weights }) => weights);
  };
  const options = { temperature: 1 };
  if (forwardOnly) {
    const logprobs = gather(await engine.logprobs(samples, options));
    weigh(logprobs);
    return { fields: { logprobs }, metrics };
  }
  const known = isLinear(lossFn) ? scatter(weigh(data.map(({ targets }) => targets.map(() => 0)))) : undefined;
  const decide = known ?? ((rows: readonly (readonly number[])[]) => scatter(weigh(gather(rows))));
  const logprobs = gather(await engine.forwardBackward(samples, decide, options));
  if (known !== undefined) weigh(logprobs);
  return { fields: { logprobs }, metrics };
}

/** Targets that follow each other in the text, so that one sequence scores them. `at`: their places in the datum's targets. */
interface Run {
  /** Tokens before the first target. */
  readonly before: number;
  readonly targets: readonly TokenId[];
  readonly at: readonly number[];
}

/** Cuts a datum into runs. Where targets are the tokens shifted by one, as in text, there is one run. A target that is not the next token ends one. */
function runsOf(tokens: readonly TokenId[], targets: readonly TokenId[]): Run[] {
  const runs: { before: number; targets: TokenId[]; at: number[] }[] = [];
  let open: (typeof runs)[number] | undefined;
  for (const [at, target] of targets.entries()) {
    const run = open ?? { before: at + 1, targets: [], at: [] };
    if (run !== open) runs.push(run);
    run.targets.push(target);
    run.at.push(at);
    open = target === tokens[at + 1] ? run : undefined;
  }
  return runs;
}

function sampleOf({ tokens }: Datum, { before, targets }: Run, trajectory: string, turn: number): ActionInContext {
  return { trajectory, turn, context: tokens.slice(0, before), action: targets };
}
