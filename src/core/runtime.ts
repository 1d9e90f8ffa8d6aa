/** The program that runs this one, as its users name it. */
export interface Runtime {
  readonly name: "node" | "bun" | "deno";
  readonly version: string;
}

/** Returns what runs this program. Bun and Deno also have a version of Node, the one that they resemble. */
export function runtime({ bun, deno, node }: NodeJS.ProcessVersions = process.versions): Runtime {
  if (bun !== undefined) return { name: "bun", version: `Bun ${bun}` };
  if (deno !== undefined) return { name: "deno", version: `Deno ${deno}` };
  return { name: "node", version: `v${node}` };
}
