import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreditWriter, readCredits, type TurnCredit } from "../src/runs/credits.ts";
import { readMetrics, readTimings, readTrajectories, trajectorySteps } from "../src/runs/read.ts";
import { createRun, writeStep } from "../src/runs/write.ts";

/**
 * What recording costs of a step: `jiti bench/recording.ts RUN`. Writes the steps of a run again, with and without credits, and divides by the
 * seconds that the run's steps took.
 */
const folder = process.argv[2];
const timings = new Map(readTimings(folder).map((timing) => [timing.step, timing]));
const metrics = new Map(readMetrics(folder).map((record) => [record.step, record]));
const into = join(mkdtempSync(join(tmpdir(), "retrograde-recording-")), "run");
createRun(into, { seed: 1 });
const writer = new CreditWriter(into);
let [seconds, files, credits, tokens] = [0, 0, 0, 0];
for (const step of trajectorySteps(folder)) {
  const [record, timing] = [metrics.get(step), timings.get(step)];
  const trajectories = readTrajectories(folder, step);
  const recorded: TurnCredit[] = ((await readCredits(folder, step)) ?? []).map((credit) => ({ ...credit, old: credit.before }));
  if (record === undefined || timing === undefined) continue;
  seconds += timing.rolloutSeconds + timing.updateSeconds;
  let started = process.cpuUsage();
  const spent = () => {
    const { user, system } = process.cpuUsage(started);
    started = process.cpuUsage();
    return (user + system) / 1e6;
  };
  writeStep(into, record, timing, trajectories);
  files += spent();
  writer.write(step, recorded);
  await writer.flush();
  credits += spent();
  tokens += recorded.reduce((sum, { weights }) => sum + weights.length, 0);
}
const share = (part: number) =>
  `${(part * 1000).toFixed(0)} ms of processor time, ${((100 * part) / seconds).toFixed(2)} % of the ${seconds.toFixed(1)} s that these steps took`;
console.log(`trajectories, index, metrics: ${share(files)}`);
console.log(`credits of ${tokens} tokens: ${share(credits)}`);
