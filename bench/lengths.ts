/**
 * Speed and memory of training over the length of a sequence, 5 million parameters, beside PyTorch: `npx jiti bench/lengths.ts --help`. Each point is a
 * process of its own. Speed is in tokens per second of processor time, which other programs disturb less than the clock.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Command } from "commander";
import { legend, polyline, svg, text } from "../src/plot/svg.ts";
import { benchmarkModels, writeBenchmarkModel } from "./model.ts";
import { findPython } from "./python.ts";
import { median, spread } from "./statistics.ts";

interface Point {
  readonly round: number;
  readonly side: "ours" | "peer";
  readonly length: number;
  readonly tokensPerSecond: number;
  readonly megabytes: number;
}

const lengths = [512, 1024, 2048, 4096, 8192, 16_384];
const [width, height, left, top] = [300, 220, 60, 40];
const colours = { ours: "#1b6ca8", peer: "#d9822b" } as const;

async function measure(file: string, options: { threads: string; rounds: string; python?: string }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-lengths-"));
  const python = await findPython(options.python);
  await writeBenchmarkModel(folder, { ...benchmarkModels["5m"], maxPositionEmbeddings: 32_768 });
  const points: Point[] = [];
  const run = async (round: number, side: Point["side"], length: number, command: string, args: readonly string[]) => {
    const { stdout } = await promisify(execFile)(command, [...args, folder, options.threads, String(length)]);
    const point: Point = { round, side, length, ...JSON.parse(stdout) };
    points.push(point);
    console.log(
      `${side} ${length} tokens: ${point.tokensPerSecond.toFixed(0)} tokens/s of processor time, ${point.megabytes.toFixed(0)} MB`,
    );
    writeFileSync(file, `${JSON.stringify({ machine: cpus()[0].model, threads: options.threads, points }, undefined, 2)}\n`);
  };
  try {
    for (let round = 1; round <= Number(options.rounds); round++) {
      for (const length of lengths) {
        await run(round, "ours", length, process.execPath, ["--import", "jiti/register", "bench/ours/length.ts"]);
        if (python !== undefined) await run(round, "peer", length, python, ["bench/peers/length.py"]);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Draws medians over rounds, and prints them as a table in Markdown: ratios are those of a round, and their median. */
function draw(file: string, picture: string): void {
  const { machine, threads, points } = JSON.parse(readFileSync(file, "utf8")) as {
    machine: string;
    threads: string;
    points: Point[];
  };
  const values = (side: Point["side"], length: number, of: (point: Point) => number) =>
    points.filter((point) => point.side === side && point.length === length).map(of);
  const [speed, memory] = [(point: Point) => point.tokensPerSecond, (point: Point) => point.megabytes];
  console.log("| tokens | ours, tokens/s | PyTorch | ratio | ours, MB | PyTorch | ratio |\n|---|---|---|---|---|---|---|");
  for (const length of lengths) {
    const cells = [speed, memory].flatMap((of) => {
      const [ours, peer] = [values("ours", length, of), values("peer", length, of)];
      return [spread(ours), spread(peer), median(ours.map((value, round) => value / peer[round])).toFixed(2)];
    });
    console.log(`| ${[length.toLocaleString("en-US"), ...cells].join(" | ")} |`);
  }
  const plots = [
    { title: "tokens/s of processor time", of: speed },
    { title: "peak of the process, MB", of: memory },
  ].flatMap(({ title, of }, plot) => {
    const at = left + plot * (width + 90);
    const most = Math.max(...points.map(of));
    const x = (length: number) =>
      at + (Math.log2(length / lengths[0]) / Math.log2(lengths[lengths.length - 1] / lengths[0])) * width;
    const y = (value: number) => top + height * (1 - value / most);
    return [
      text(at, top - 12, title),
      ...[0, 0.25, 0.5, 0.75, 1].map((share) => text(at - 6, y(share * most) + 4, (share * most).toFixed(0), "end")),
      ...lengths.map((length) => text(x(length), top + height + 18, String(length), "middle")),
      ...(["ours", "peer"] as const).map((side) =>
        polyline(
          lengths.map((length) => [x(length), y(median(values(side, length, of)))] as const),
          colours[side],
        ),
      ),
    ];
  });
  const title = `Training one sequence by its length: 5 M parameters, ${threads} thread, ${machine}`;
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
  .option("--threads <n>", "threads of either side", "1")
  .option("--rounds <n>", "how often everything is measured", "3")
  .option("--python <command>", "a Python with torch and transformers (default: RETROGRADE_PYTHON, or python3)")
  .action(measure);
program.command("draw <file> <picture>").description("draws medians as an SVG and prints them as a table").action(draw);
await program.parseAsync();
