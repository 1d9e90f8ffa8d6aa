import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { RunError, reasonOf } from "../core/errors.ts";
import { layout } from "./layout.ts";

const packageName = "@duckdb/node-api";

/** The part of DuckDB's client that is used. */
interface DuckDb {
  readonly DuckDBInstance: {
    create(path: string): Promise<{ connect(): Promise<Connection> }>;
  };
}
interface Connection {
  run(sql: string): Promise<unknown>;
  runAndReadAll(sql: string): Promise<{ columnNames(): string[]; getRowObjectsJson(): Record<string, unknown>[] }>;
  closeSync(): void;
}

export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Answers a question about runs in SQL, by DuckDB, over their files as they are. Each table has the name of the run in `run`:
 *
 *   runs(run, seed, created, config)             metrics(run, step, name, value)       timings(run, step, …)
 *   evaluations(run, "when", step, split, mean, low, high, …)
 *   trajectories(run, source, split, step, id, task, kind, "group", stop, reward, success, turns, tokens, tool_calls, entropy)
 *   token_credits, turn_credits                  (run, step, and the columns of docs/runs.md)
 *
 * A table whose files no run has does not exist. DuckDB is an optional package: 70 MB that training does not need.
 * @param root a folder of runs, or of one
 * @throws RunError where DuckDB is not installed, or for a query that it refuses
 * @example
 * const { rows } = await queryRuns("runs", "select run, max(step) as steps from metrics group by run");
 */
export async function queryRuns(root: string, sql: string): Promise<QueryResult> {
  const { DuckDBInstance } = await loadDuckDb();
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  try {
    for (const view of views(resolve(root))) await connection.run(view);
    const result = await connection.runAndReadAll(sql);
    return { columns: result.columnNames(), rows: result.getRowObjectsJson() };
  } catch (cause) {
    throw new RunError("the query", sql, {
      expected: "SQL over the tables runs, metrics, timings, evaluations, trajectories, token_credits and turn_credits",
      hint: reasonOf(cause),
      cause,
    });
  } finally {
    connection.closeSync();
  }
}

/** Beside this package, or else where the program was started. */
async function loadDuckDb(): Promise<DuckDb> {
  try {
    return (await import(packageName)) as DuckDb;
  } catch {
    try {
      const path = createRequire(join(process.cwd(), "package.json")).resolve(packageName);
      return (await import(pathToFileURL(path).href)) as DuckDb;
    } catch (cause) {
      throw new RunError(packageName, "not installed", {
        expected: "DuckDB, which SQL over runs needs",
        hint: `Install it: npm install ${packageName}`,
        cause,
      });
    }
  }
}

function views(root: string): string[] {
  const folders = existsSync(layout.run(root))
    ? [root]
    : !existsSync(root)
      ? []
      : readdirSync(root, { withFileTypes: true })
          .filter((entry) => entry.isDirectory() && existsSync(layout.run(join(root, entry.name))))
          .map((entry) => join(root, entry.name));
  const files = (of: (folder: string) => readonly string[]) => folders.flatMap(of).filter((path) => existsSync(path));
  const inside = (folder: string, part: string, ending: string) => {
    const path = join(folder, part);
    return existsSync(path)
      ? readdirSync(path)
          .filter((name) => !name.startsWith(".") && name.endsWith(ending))
          .map((name) => join(path, name))
      : [];
  };
  const view = (name: string, paths: readonly string[], select: (list: string) => string) =>
    paths.length === 0 ? [] : [`create view ${name} as ${select(`[${paths.map(quoted).join(", ")}]`)}`];
  const run = (below: string) => `regexp_extract(replace(filename, '\\', '/'), '([^/]+)/${below}[^/]*$', 1) as run`;
  const step = `cast(regexp_extract(filename, 'step-(\\d+)', 1) as integer) as step`;
  const unnested = ["task", "kind", "group", "stop"].map((name) => `unnest([${name}s[i + 1] for i in "${name}"]) as "${name}"`);
  return [
    ...view(
      "runs",
      files((folder) => [layout.run(folder)]),
      (list) =>
        `select ${run("")}, * exclude (filename) from read_json(${list}, filename = true, columns = {seed: 'BIGINT', version: 'VARCHAR', created: 'TIMESTAMP', device: 'VARCHAR', config: 'JSON'}, format = 'unstructured')`,
    ),
    ...view(
      "metrics",
      files((folder) => [layout.metrics(folder)]),
      (list) =>
        `select run, step, unnest(map_keys(metrics)) as name, unnest(map_values(metrics)) as value from (select ${run("")}, step, metrics from read_json(${list}, filename = true, format = 'newline_delimited', columns = {step: 'INTEGER', metrics: 'MAP(VARCHAR, DOUBLE)'}))`,
    ),
    ...view(
      "timings",
      files((folder) => [layout.timing(folder)]),
      (list) =>
        `select ${run("")}, * exclude (filename, crc32, "metricsCrc32") from read_json(${list}, filename = true, format = 'newline_delimited', union_by_name = true)`,
    ),
    ...view(
      "evaluations",
      files((folder) => inside(folder, "evaluations", ".json")),
      (list) =>
        `select ${run("evaluations/")}, * exclude (filename) from read_json(${list}, filename = true, format = 'unstructured', union_by_name = true, columns = {"when": 'VARCHAR', step: 'INTEGER', split: 'VARCHAR', tasks: 'INTEGER', k: 'INTEGER', temperature: 'DOUBLE', mean: 'DOUBLE', low: 'DOUBLE', high: 'DOUBLE', meanTurns: 'DOUBLE', toolCalls: 'INTEGER'})`,
    ),
    ...view(
      "trajectories",
      files((folder) => [layout.index(folder)]),
      (list) =>
        `select run, source, split, step, unnest(id) as id, ${unnested.join(", ")}, unnest(reward) as reward, unnest(success) = 1 as success, unnest(turns) as turns, unnest(tokens) as tokens, unnest("toolCalls") as tool_calls, unnest(entropy) as entropy from (select ${run("")}, * from read_json(${list}, filename = true, format = 'newline_delimited', maximum_object_size = 268435456, columns = {source: 'VARCHAR', split: 'VARCHAR', step: 'INTEGER', id: 'VARCHAR[]', tasks: 'VARCHAR[]', task: 'INTEGER[]', kinds: 'VARCHAR[]', kind: 'INTEGER[]', groups: 'VARCHAR[]', "group": 'INTEGER[]', stops: 'VARCHAR[]', stop: 'INTEGER[]', reward: 'DOUBLE[]', success: 'INTEGER[]', turns: 'INTEGER[]', tokens: 'INTEGER[]', "toolCalls": 'INTEGER[]', entropy: 'DOUBLE[]'}))`,
    ),
    ...view(
      "token_credits",
      files((folder) => inside(folder, "credits", "-tokens.parquet")),
      (list) => `select ${run("credits/")}, ${step}, * exclude (filename) from read_parquet(${list}, filename = true)`,
    ),
    ...view(
      "turn_credits",
      files((folder) => inside(folder, "credits", "-turns.parquet")),
      (list) => `select ${run("credits/")}, ${step}, * exclude (filename) from read_parquet(${list}, filename = true)`,
    ),
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
