import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { linesOf } from "./lines.ts";

/** What was played over a wire with somebody else's published package. */
export interface Played {
  readonly wire: string;
  /** The package and its version. */
  readonly package: string;
  /** A published environment that a client of ours played, or the client that played a world of ours. */
  readonly what: string;
  /** Of all that the package has. */
  readonly episodes: number;
  readonly result: string;
  /** The side of ours that played it, or what kept it from being played. */
  readonly refused: keyof typeof refusals | `needs ${string}`;
}

/** What each side of ours refuses by name: the tests in `extensions/remote`, and faults.contract.test.ts here, show it. */
const refusals = {
  orsClient: "versions but 0.1, unknown fields and blocks, another world's tasks, a terminal tool without `arg`",
  orsServer: "toolsets and `score_group`",
  openenvServer: "unknown messages, unknown kinds of actions, tasks outside of a split",
  nemoGymClient: "rewards that are not numbers, unknown fields of steps, statuses from 500 on",
  verifiersClient:
    "traces of another version, rewards that were not computed, several agents, sampling settings that are not the run's",
  nothing: "nothing",
} as const;
const refusedBy = (refused: Played["refused"]) => (refused in refusals ? refusals[refused as keyof typeof refusals] : refused);

const file = fileURLToPath(new URL("played.jsonl", import.meta.url));
export const rows = (): Played[] => linesOf<Played>(file);

const key = (row: Played) => `${row.wire} ${row.package} ${row.what}`;

/**
 * Records what a test played. With RETROGRADE_PLAY=all everything is played, and the record is written; else a sample is, whose result has to
 * be the recorded one.
 */
export function played({ wire, package: version, what, episodes, result, refused }: Played): void {
  const row: Played = { wire, package: version, what, episodes, result, refused }; // the fields of all rows in one order
  const others = rows().filter((one) => key(one) !== key(row));
  if (process.env.RETROGRADE_PLAY === "all") {
    const sorted = [...others, row].sort((a, b) => (key(a) < key(b) ? -1 : 1));
    writeFileSync(file, sorted.map((one) => `${JSON.stringify(one)}\n`).join(""));
    return;
  }
  const recorded = rows().find((one) => key(one) === key(row));
  expect(recorded, `no record of ${key(row)}: play all of it with RETROGRADE_PLAY=all`).toMatchObject({
    ...{ result: row.result, refused: row.refused },
  });
  expect(recorded?.episodes).toBeGreaterThanOrEqual(row.episodes);
}

/** Servers of a package whose rollouts came out alike. */
const published = /^(`\w+`), its published rollouts$/;

/** The records as the rows of a table. Servers whose published rollouts came out alike share a row. */
export function table(): (string | number)[][] {
  const groups = new Map<string, Played[]>();
  for (const row of rows()) {
    const alike = published.test(row.what) ? `${row.wire} ${row.package} ${row.result} ${row.refused}` : key(row);
    groups.set(alike, [...(groups.get(alike) ?? []), row]);
  }
  const lines = [...groups.values()].map((alike) => {
    const servers = alike.flatMap(({ what }) => published.exec(what)?.[1] ?? []);
    const what = servers.length === 0 ? alike[0].what : `published rollouts of ${servers.length}: ${servers.join(", ")}`;
    const [{ wire, package: version, result, refused }] = alike;
    return [wire, version, what, alike.reduce((sum, { episodes }) => sum + episodes, 0), result, refusedBy(refused)];
  });
  return [["wire", "package", "what was played", "episodes", "result", "refused"], ...lines];
}
