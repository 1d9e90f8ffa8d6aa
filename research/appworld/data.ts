import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import type { Task } from "../../src/environments/environment.ts";
import { setupCommands } from "./places.ts";

/** The splits that AppWorld publishes. */
const publishedSplits = ["train", "dev", "test_normal", "test_challenge"] as const;

const supervisorSchema = z.object({
  first_name: z.string(),
  last_name: z.string(),
  email: z.string(),
  phone_number: z.string(),
});
const specsSchema = z.object({ instruction: z.string().min(1), supervisor: supervisorSchema });
const metadataSchema = z.object({ difficulty: z.number() });
const documentSchema = z.record(z.string(), z.object({ description: z.string() }));

export type Supervisor = z.output<typeof supervisorSchema>;

/** A task as its files describe it. Its databases and its evaluation are the server's. */
export interface AppworldTask extends Task {
  readonly instruction: string;
  readonly supervisor: Supervisor;
}

/** The split lists and tasks of a data folder. */
export class AppworldData {
  readonly root: string;
  readonly #splits = new Map<string, readonly string[]>();

  constructor(root: string) {
    this.root = root;
  }

  names(): readonly string[] {
    const folder = join(this.root, "data", "datasets");
    if (!existsSync(folder)) return publishedSplits;
    const found = readdirSync(folder).flatMap((name) => (name.endsWith(".txt") ? [name.slice(0, -4)] : []));
    const ordered = publishedSplits.filter((name) => found.includes(name));
    return [...ordered, ...found.filter((name) => !ordered.some((known) => known === name)).sort()];
  }

  /** The ids of a split's tasks. @throws ConfigError if the folder has no data */
  ids(split: string): readonly string[] {
    const known = this.#splits.get(split);
    if (known !== undefined) return known;
    this.requireData();
    const path = join(this.root, "data", "datasets", `${split}.txt`);
    const ids = existsSync(path)
      ? readFileSync(path, "utf8")
          .split("\n")
          // A tag may follow the id, behind a colon.
          .map((line) => line.trim().split(":")[0] ?? "")
          .filter((id) => id !== "")
      : [];
    const wrong = ids.find((id) => !/^[\w-]+_\d+$/.test(id));
    if (wrong !== undefined) throw new EnvError(path, wrong, { expected: "ids of tasks, such as 82e2fac_1, one a line" });
    this.#splits.set(split, ids);
    return ids;
  }

  /** @throws EnvError if its files are missing or malformed */
  task(id: string): AppworldTask {
    const { instruction, supervisor } = this.#read(join("tasks", id, "specs.json"), specsSchema);
    const metadata = join("tasks", id, "ground_truth", "metadata.json");
    const kind = existsSync(join(this.root, "data", metadata))
      ? `difficulty ${this.#read(metadata, metadataSchema).difficulty}`
      : undefined;
    const scenario = id.slice(0, id.lastIndexOf("_"));
    return { id, ...(kind === undefined ? {} : { kind }), scenario, instruction, supervisor };
  }

  /** Names of apps, and of their APIs with what they do. */
  documents(): { readonly app: string; readonly apis: readonly { readonly name: string; readonly description: string }[] }[] {
    const folder = join("api_docs", "standard");
    const apps = readdirSync(join(this.root, "data", folder)).flatMap((name) =>
      name.endsWith(".json") ? [name.slice(0, -5)] : [],
    );
    return apps.sort().map((app) => {
      const document = this.#read(join(folder, `${app}.json`), documentSchema);
      return { app, apis: Object.entries(document).map(([name, { description }]) => ({ name, description })) };
    });
  }

  requireData(): void {
    const missing = ["base_dbs", "datasets", "tasks", join("api_docs", "standard")].find(
      (name) => !existsSync(join(this.root, "data", name)),
    );
    if (missing === undefined) return;
    throw new ConfigError("environment.settings.root", this.root, {
      expected: `a folder with data/${missing}, as AppWorld's download makes it`,
      hint: `Get the data: ${setupCommands(this.root).data}. \`npm run research -- doctor --env appworld\` says what else is missing.`,
    });
  }

  #read<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> {
    const path = join(this.root, "data", name);
    try {
      return schema.parse(JSON.parse(readFileSync(path, "utf8")));
    } catch (cause) {
      const why = cause instanceof z.ZodError ? z.prettifyError(cause) : cause;
      throw new EnvError(path, why, { expected: "a file of AppWorld's data", hint: "Download the data again.", cause });
    }
  }
}
