/** Cells of a drawn lake by rows: "P" the player, "G" the goal, "H" a hole, "" ice. */
export type Lake = readonly (readonly string[])[];

const moves = { right: [0, 1], down: [1, 0], left: [0, -1], up: [-1, 0] } as const;

/** The board of a message of TextArena's FrozenLake: rows such as `|  P  |  H  |`. */
export function lakeOf(message: string): Lake {
  const rows = message.split("\n").filter((row) => row.startsWith("|"));
  return rows.map((row) => {
    const cells = row.slice(1, -1).split("|");
    return cells.map((cell) => cell.trim());
  });
}

/** The moves of a shortest way to the goal, breadth first: of several, the first in the order right, down, left, up. @throws Error if there is none */
export function shortestWay(lake: Lake): string[] {
  const from = lake.findIndex((row) => row.includes("P"));
  const open = [{ row: from, column: lake[from]?.indexOf("P") ?? 0, way: [] as string[] }];
  const seen = new Set<string>();
  for (let here = open.shift(); here !== undefined; here = open.shift()) {
    const { row, column, way } = here;
    const cell = lake[row]?.[column];
    if (cell === "G") return way;
    if (cell === undefined || cell === "H" || seen.has(`${row},${column}`)) continue;
    seen.add(`${row},${column}`);
    for (const [move, [down, right]] of Object.entries(moves))
      open.push({ row: row + down, column: column + right, way: [...way, move] });
  }
  throw new Error(`no way over ${lake.map((row) => row.join(" ")).join(" / ")}`);
}
