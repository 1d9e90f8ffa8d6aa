/**
 * Speed and memory of training over the length of a sequence, with 5 million parameters, or over the size of the model, with 1,024 tokens, beside
 * PyTorch: `npx jiti bench/lengths.ts --help`. Each point is a
 * process of its own. Speed is in tokens per second of processor time, which other programs disturb less than the clock.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Command } from "commander";
import { ConfigError } from "../src/core/errors.ts";
import { type ModelConfig, parameterCount } from "../src/engines/local/model/model-config.ts";
import { legend, polyline, svg, text } from "../src/plot/svg.ts";
import { benchmarkModels, writeBenchmarkModel } from "./model.ts";
import { findPython } from "./python.ts";
import { median, spread } from "./statistics.ts";

interface Point {
  readonly round: number;
  readonly side: "ours" | "peer";
  /** Tokens of the sequence, or parameters of the model. */
  readonly at: number;
  readonly tokensPerSecond: number;
  readonly megabytes: number;
}

interface Curve {
  readonly title: string;
  readonly unit: string;
  readonly places: readonly {
    readonly at: number;
    readonly label: string;
    readonly config: ModelConfig;
    readonly length: number;
  }[];
}

const { "5m": small, "27m": medium } = benchmarkModels;
const sizes: readonly ModelConfig[] = [
  { ...small, hiddenSize: 128, intermediateSize: 384, layers: 4, heads: 2, kvHeads: 1 },
  small,
  medium,
  { ...medium, vocabSize: 8192, hiddenSize: 768, intermediateSize: 2304, layers: 12, heads: 12, kvHeads: 6 },
];
const curves: Readonly<Record<string, Curve>> = {
  length: {
    title: "Training one sequence by its length: 5 M parameters",
    unit: "tokens",
    places: [512, 1024, 2048, 4096, 8192, 16_384].map((length) => ({
      ...{ at: length, label: String(length), length },
      config: { ...small, maxPositionEmbeddings: 32_768 },
    })),
  },
  size: {
    title: "Training one sequence of 1,024 tokens by the model's size",
    unit: "parameters",
    places: sizes.map((config) => {
      const at = parameterCount(config);
      return { at, label: `${(at / 1e6).toFixed(at < 1e7 ? 1 : 0)} M`, config, length: 1024 };
    }),
  },
};
const [width, height, left, top] = [300, 220, 60, 40];
const colours = { ours: "#1b6ca8", peer: "#d9822b" } as const;

async function measure(file: string, options: { over: string; threads: string; rounds: string; python?: string }): Promise<void> {
  const curve = curves[options.over];
  if (curve === undefined) throw new ConfigError("--over", options.over, { expected: Object.keys(curves) });
  const folder = mkdtempSync(join(tmpdir(), "retrograde-lengths-"));
  const python = await findPython(options.python);
  const points: Point[] = [];
  try {
    for (const { label, config } of curve.places) await writeBenchmarkModel(join(folder, label), config);
    for (let round = 1; round <= Number(options.rounds); round++) {
      for (const { at, label, length } of curve.places) {
        const run = async (side: Point["side"], command: string, args: readonly string[]) => {
          const all = [...args, join(folder, label), options.threads, String(length)];
          const { stdout } = await promisify(execFile)(command, all);
          const point: Point = { round, side, at, ...JSON.parse(stdout) };
          points.push(point);
          const [speed, memory] = [point.tokensPerSecond.toFixed(0), point.megabytes.toFixed(0)];
          console.log(`${side} ${label} ${curve.unit}: ${speed} tokens/s of processor time, ${memory} MB`);
          const { over, threads } = options;
          writeFileSync(file, `${JSON.stringify({ machine: cpus()[0].model, over, threads, points }, undefined, 2)}\n`);
        };
        await run("ours", process.execPath, ["--import", "jiti/register", "bench/ours/length.ts"]);
        if (python !== undefined) await run("peer", python, ["bench/peers/length.py"]);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Draws medians over rounds, and prints them as a table in Markdown: ratios are those of a round, and their median. */
function draw(file: string, picture: string): void {
  const { machine, over, threads, points } = JSON.parse(readFileSync(file, "utf8")) as {
    machine: string;
    over: string;
    threads: string;
    points: Point[];
  };
  const { title: subject, unit, places } = curves[over];
  const values = (side: Point["side"], at: number, of: (point: Point) => number) =>
    points.filter((point) => point.side === side && point.at === at).map(of);
  const sides = (["ours", "peer"] as const).filter((side) => points.some((point) => point.side === side));
  const [speed, memory] = [(point: Point) => point.tokensPerSecond, (point: Point) => point.megabytes];
  console.log(`| ${unit} | ours, tokens/s | PyTorch | ratio | ours, MB | PyTorch | ratio |\n|---|---|---|---|---|---|---|`);
  for (const { at, label } of places) {
    const cells = [speed, memory].flatMap((of) => {
      const [ours, peer] = [values("ours", at, of), values("peer", at, of)];
      if (peer.length === 0) return [spread(ours), "–", "–"];
      return [spread(ours), spread(peer), median(ours.map((value, round) => value / peer[round])).toFixed(2)];
    });
    console.log(`| ${[label, ...cells].join(" | ")} |`);
  }
  const plots = [
    { title: "tokens/s of processor time", of: speed },
    { title: "peak of the process, MB", of: memory },
  ].flatMap(({ title, of }, plot) => {
    const edge = left + plot * (width + 90);
    const most = Math.max(...points.map(of));
    const x = (at: number) =>
      edge + (Math.log2(at / places[0].at) / Math.log2(places[places.length - 1].at / places[0].at)) * width;
    const y = (value: number) => top + height * (1 - value / most);
    return [
      text(edge, top - 12, title),
      ...[0, 0.25, 0.5, 0.75, 1].map((share) => text(edge - 6, y(share * most) + 4, (share * most).toFixed(0), "end")),
      ...places.map(({ at, label }) => text(x(at), top + height + 18, label, "middle")),
      ...sides.map((side) =>
        polyline(
          places.map(({ at }) => [x(at), y(median(values(side, at, of)))] as const),
          colours[side],
        ),
      ),
    ];
  });
  const title = `${subject}, ${threads} thread, ${machine}`;
  const parts = [
    ...plots,
    legend(left, top + height + 34, colours.ours, "Retrograde"),
    legend(left + 120, top + height + 34, colours.peer, "transformers on PyTorch, eager"),
  ];
  writeFileSync(picture, svg(left + 2 * width + 120, top + height + 60, title, parts));
}

const program = new Command("npx jiti bench/lengths.ts");
program
  .command("measure <file>")
  .description("measures both sides and writes the points as JSON")
  .option("--over <what>", "length of the sequence, or size of the model", "length")
  .option("--threads <n>", "threads of either side", "1")
  .option("--rounds <n>", "how often everything is measured", "3")
  .option("--python <command>", "a Python with torch and transformers (default: RETROGRADE_PYTHON, or python3)")
  .action(measure);
program.command("draw <file> <picture>").description("draws medians as an SVG and prints them as a table").action(draw);
await program.parseAsync();
