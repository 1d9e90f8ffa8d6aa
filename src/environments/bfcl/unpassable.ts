/** Why no model can pass a task as the published checker judges it. */
export interface Unpassable {
  readonly reason: string;
  /** The report to the benchmark's authors. */
  readonly issue: string;
}

/** Tasks that are left out of the second score, by id. A test holds every entry to the checker's verdict. */
export const unpassable: ReadonlyMap<string, Unpassable> = new Map();
