import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { nativeRuntime } from "../../extensions/local/machine/native.ts";
import { median } from "./measure.ts";

/** ONNX Runtime's profile: what a session and its nodes took, in microseconds. */
const profileSchema = z.array(
  z.object({
    cat: z.string(),
    name: z.string(),
    dur: z.number(),
    args: z.looseObject({ op_name: z.string().optional() }).optional(),
  }),
);

/** Sums of one kind of node. */
interface Share {
  readonly name: string;
  readonly nodes: number;
  readonly milliseconds: number;
}

/** Of one session: medians of its runs, the first of which loads kernels. */
export interface SessionProfile {
  readonly runs: number;
  readonly nodes: number;
  readonly milliseconds: number;
  /** By ONNX operator, and by the operator of the engine's graph with the modules that it reads. The longest first. */
  readonly operators: readonly Share[];
  readonly groups: readonly Share[];
}

/** Has every session that work opens profiled. Sessions that were open before are not; those of the work have to be closed by it. */
export async function profiled(work: () => Promise<void>): Promise<SessionProfile[]> {
  const native = await nativeRuntime();
  const folder = mkdtempSync(join(tmpdir(), "profile-"));
  native.profiles = folder;
  try {
    await work();
    const files = readdirSync(folder).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
    return files.map((file) => summary(readFileSync(join(folder, file), "utf8"))).filter(({ nodes }) => nodes > 0);
  } finally {
    native.profiles = undefined;
    rmSync(folder, { recursive: true });
  }
}

/** Sums up the profile that ONNX Runtime wrote of a session. */
export function summary(text: string): SessionProfile {
  const events = profileSchema.parse(JSON.parse(text));
  const runs = Math.max(1, events.filter(({ name }) => name === "SequentialExecutor::Execute").length);
  const nodes = new Map<string, { readonly operator: string; readonly times: number[] }>();
  for (const { cat, name, dur, args } of events) {
    if (cat !== "Node" || !name.endsWith("_kernel_time")) continue;
    const node = nodes.get(name) ?? { operator: args?.op_name ?? "unknown", times: [] };
    node.times.push(dur / 1000);
    nodes.set(name, node);
  }
  const shares = (nameOf: (name: string, operator: string) => string): Share[] => {
    const sums = new Map<string, { nodes: number; milliseconds: number }>();
    for (const [name, { operator, times }] of nodes) {
      const sum = sums.get(nameOf(name, operator)) ?? { nodes: 0, milliseconds: 0 };
      sums.set(nameOf(name, operator), { nodes: sum.nodes + 1, milliseconds: sum.milliseconds + median(times) });
    }
    const all = [...sums].map(([name, sum]) => ({ name, ...sum }));
    return all.sort((a, b) => b.milliseconds - a.milliseconds);
  };
  const operators = shares((_, operator) => operator);
  const groups = shares((name) => (/ #\d/.test(name) ? name.replace(/ #\d.*/, "") : "added by ONNX Runtime"));
  const milliseconds = operators.reduce((sum, each) => sum + each.milliseconds, 0);
  return { runs, nodes: nodes.size, milliseconds, operators, groups };
}

/** The tables of a profile for people. @param most lines of each */
export function profileText({ runs, nodes, milliseconds, operators, groups }: SessionProfile, most = 16): string {
  const table = (shares: readonly Share[]) =>
    shares
      .slice(0, most)
      .map((each) => `  ${each.milliseconds.toFixed(3).padStart(9)} ms ${each.nodes.toFixed(0).padStart(5)} nodes  ${each.name}`);
  const head = `${runs} runs of ${nodes.toFixed(0)} nodes, ${milliseconds.toFixed(2)} ms in nodes, by medians`;
  return [head, " by operator", ...table(operators), " by group", ...table(groups)].join("\n");
}
