import { z } from "zod";
import { RunError } from "../../../src/core/errors.ts";
import { parseBody } from "../../http/body.ts";
import type { HttpRequest } from "../../http/server.ts";
import { compareRuns } from "../../inspect/compare.ts";
import { pushedPhrases } from "../../inspect/phrases.ts";
import { addRemark, readRemarks, remarkSchema } from "../../inspect/remarks.ts";
import type { ComparisonView, PhraseList } from "./api.ts";
import { NotFound } from "./http.ts";
import type { RunSource, RunSources } from "./run-source.ts";
import { runDetail, runList } from "./run-views.ts";
import { sortedBy, trajectoryPage, trajectoryView, treeView } from "./trajectory-views.ts";

export interface Api {
  readonly sources: RunSources;
}

type Answer = (api: Api, query: URLSearchParams, request: HttpRequest) => unknown;

const count = z.coerce.number().int().min(0);
const pageQuery = z.object({
  offset: count.default(0),
  limit: count.max(500).default(50),
  source: z.string().optional(),
  split: z.string().optional(),
  fromStep: count.optional(),
  toStep: count.optional(),
  task: z.string().optional(),
  kind: z.string().optional(),
  group: z.string().optional(),
  stop: z.string().optional(),
  minReward: z.coerce.number().optional(),
  maxReward: z.coerce.number().optional(),
  success: z.stringbool().optional(),
  minTurns: count.optional(),
  text: z.string().max(500).optional(),
  sort: z.enum(sortedBy).optional(),
  ascending: z.stringbool().optional(),
});

/** All that the page can ask, by method and path. The path of a run's parts is `/api/run/…?run=ID`. */
export const routes: Readonly<Record<string, Answer>> = {
  "GET /api/runs": ({ sources }) => runList(sources),
  "GET /api/run": (api, query) => runDetail(runOf(api, query)),
  "GET /api/run/trajectories": (api, query) => trajectoryPage(runOf(api, query), parsed(pageQuery, given(query))),
  "GET /api/run/trajectory": (api, query) => trajectoryView(runOf(api, query), required(query, "id")),
  "GET /api/run/raw": (api, query) => rawTrajectory(runOf(api, query), required(query, "id")),
  "GET /api/run/tree": (api, query) =>
    treeView(runOf(api, query), parsed(count, required(query, "step")), query.get("group") ?? undefined),
  "GET /api/run/phrases": (api, query) => phraseList(runOf(api, query), parsed(count, required(query, "step"))),
  "GET /api/compare": ({ sources }, query) => {
    const source = (id: string) => found(sources.find(id), id);
    const [a, b] = [source(required(query, "a")), source(required(query, "b"))];
    return compareRuns({ record: a.record, index: a.index() }, { record: b.record, index: b.index() }) satisfies ComparisonView;
  },
  "GET /api/run/remarks": (api, query) => readRemarks(runOf(api, query).folder),
  "POST /api/run/remarks": async (api, query, request) => {
    const source = runOf(api, query);
    const remark = parseBody(await request.body(), remarkSchema);
    if (remark.kind === "mark") rawTrajectory(source, remark.trajectory);
    addRemark(source.folder, remark);
    return readRemarks(source.folder);
  },
};

function runOf({ sources }: Api, query: URLSearchParams): RunSource {
  const id = required(query, "run");
  return found(sources.find(id), id);
}

function found(source: RunSource | undefined, id: string): RunSource {
  if (source === undefined) throw new NotFound(`There is no run "${id}".`);
  return source;
}

function required(query: URLSearchParams, name: string): string {
  const value = query.get(name);
  if (value === null || value === "") throw new RunError(`the query's ${name}`, undefined, { expected: "a value" });
  return value;
}

/** Parameters that were left empty are left out. */
function given(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].filter(([, value]) => value !== ""));
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new RunError("the request", z.prettifyError(result.error));
}

function rawTrajectory(source: RunSource, id: string): unknown {
  for (const line of source.index().toReversed()) {
    const at = line.id.indexOf(id);
    if (at >= 0) return source.trajectory({ line, at });
  }
  throw new NotFound(`This run has no trajectory "${id}".`);
}

async function phraseList(source: RunSource, step: number): Promise<PhraseList> {
  const line = source.index().find((of) => of.source === "train" && of.step === step);
  const credits = await source.credits(step);
  if (line === undefined || credits === undefined) return { step, up: [], down: [] };
  const texts = source.texts();
  return { step, ...pushedPhrases(source.all(line), credits, (ids) => texts.of(ids)) };
}
