import { availableParallelism, cpus, freemem, totalmem } from "node:os";
import { seedOf } from "../../core/random.ts";
import { measurePeak } from "../../engines/local/peak.ts";
import { type Model, modelFolder, openModel } from "../../sdk/model.ts";
import { environmentOf } from "../../sdk/train.ts";
import { resolveConfig, type TrainingConfig } from "../../training/config.ts";
import { count } from "../format.ts";
import { commandPrefix } from "../invocation.ts";
import type { Screen } from "../screen.ts";
import { doctorFlags, type SettingValues, settingsOf } from "../settings.ts";

interface Finding {
  readonly state: "good" | "doubtful" | "bad";
  readonly text: string;
  /** What to do about it. */
  readonly advice?: string;
}

type Check = () => Finding | Promise<Finding>;

/** Looks at all that training needs on this machine. @returns the exit code: 1 if something is broken */
export async function doctorCommand(flags: SettingValues, screen: Screen): Promise<number> {
  const config = resolveConfig({}, settingsOf(doctorFlags, flags));
  let model: Model | undefined;
  const checks: readonly (readonly [string, Check])[] = [
    ["node", checkNode],
    ["processor", () => checkProcessor(config.threads)],
    ["memory", checkMemory],
    ["matrix products", () => checkProducts(config.threads)],
    [
      "model",
      async () => {
        model = await openModel(await modelFolder(config.model), config.threads);
        return describeModel(model);
      },
    ],
    [
      "sampling",
      () => (model === undefined ? { state: "doubtful", text: "not tried: there is no model" } : checkSampling(model, config)),
    ],
  ];
  const findings: Finding[] = [];
  for (const [name, check] of checks) {
    screen.status(`checking ${name} …`);
    const finding = await attempt(check);
    screen.clear();
    screen.line(`${mark(finding, screen)} ${name.padEnd(16)} ${finding.text}`);
    if (finding.advice !== undefined) screen.line(`${" ".repeat(19)}${finding.advice}`);
    findings.push(finding);
  }
  await model?.engine.dispose();
  const broken = findings.some(({ state }) => state === "bad");
  screen.line(broken ? "Something is broken: see above." : `Ready. Train with: ${commandPrefix()} train`);
  return broken ? 1 : 0;
}

async function attempt(check: Check): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return { state: "bad", text: error instanceof Error ? error.message : String(error) };
  }
}

function mark({ state }: Finding, { paint }: Screen): string {
  return { good: paint.green("✓"), doubtful: paint.yellow("!"), bad: paint.red("✗") }[state];
}

function checkNode(): Finding {
  return { state: "good", text: `${process.version} on ${process.platform} ${process.arch}` };
}

function checkProcessor(threads: number): Finding {
  const cores = availableParallelism();
  const text = `${cpus()[0]?.model.trim() ?? "unknown"}, ${count(cores)} cores; ${count(threads)} threads are used`;
  if (threads > cores)
    return { state: "doubtful", text, advice: `More threads than cores slow each other down: --threads ${cores}.` };
  return { state: "good", text };
}

/** The default run needs about this much. */
const wantedGigabytes = 2;

function checkMemory(): Finding {
  const [total, free] = [totalmem(), freemem()].map((bytes) => bytes / 2 ** 30);
  const text = `${total.toFixed(1)} GiB, ${free.toFixed(1)} GiB of it free`;
  if (total < wantedGigabytes)
    return {
      state: "doubtful",
      text,
      advice: `The default run needs up to ${wantedGigabytes} GiB; a lower rollout.concurrency needs less.`,
    };
  return { state: "good", text };
}

/** A core with AVX2 makes some 50 GFLOP/s; below this something stands in the way. */
const slowGflops = 10;

async function checkProducts(threads: number): Promise<Finding> {
  const gflops = await measurePeak(threads);
  const text = `ONNX Runtime on the CPU: ${count(gflops)} GFLOP/s with ${count(threads)} threads`;
  if (gflops < slowGflops * threads)
    return { state: "doubtful", text, advice: "That is slow: is the machine busy, or Node emulated (x64 on ARM)?" };
  return { state: "good", text };
}

function describeModel({ engine: { info }, chat }: Model): Finding {
  return {
    state: "good",
    text:
      `${info.name}: ${(info.parameters / 1e6).toFixed(1)} M parameters, vocabulary ${count(info.vocabularySize)} ` +
      `(tokenizer ${count(chat.tokenizer.size)}), up to ${count(info.maxLength)} tokens`,
  };
}

const rows = 32;
const tokensPerRow = 32;

/** Several rows at once, twice: what is sampled must be possible, and the same both times. */
async function checkSampling({ engine, chat }: Model, config: TrainingConfig): Promise<Finding> {
  const environment = environmentOf(config, {});
  const { messages, tools } = await environment.start(await environment.task("test", 0), 0);
  const { ids } = chat.open(messages, tools);
  const sample = () =>
    Promise.all(
      Array.from({ length: rows }, (_, row) =>
        engine.sample({ context: ids, maxTokens: tokensPerRow, stopTokens: [], seed: seedOf(config.seed, "doctor", row) }),
      ),
    );
  const first = await sample();
  const started = performance.now();
  const second = await sample();
  const seconds = (performance.now() - started) / 1000;
  if (!first.flatMap(({ logprobs }) => logprobs).every((logprob) => logprob <= 0))
    return {
      state: "bad",
      text: "the model gives log-probs that are not numbers",
      advice: "Its weights are broken: copy the folder from its source again.",
    };
  if (JSON.stringify(first.map(({ tokens }) => tokens)) !== JSON.stringify(second.map(({ tokens }) => tokens)))
    return {
      state: "bad",
      text: "the same seeds gave different tokens",
      advice: "Please report this with the output of this command.",
    };
  return { state: "good", text: `${count((rows * tokensPerRow) / seconds)} tokens/s in ${rows} rows, the same twice` };
}
