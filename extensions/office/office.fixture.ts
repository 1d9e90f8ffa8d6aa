import type { Split } from "../../src/environments/environment.ts";
import { officeEnvironment } from "./office.ts";
import type { OfficeTask } from "./task.ts";

export function drawn(settings: unknown, split: Split, from: number, to: number): OfficeTask[] {
  const office = officeEnvironment(settings);
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => office.task(split, from + i) as OfficeTask);
}

export const known = new Map<string, OfficeTask[]>();

/** The first tasks of a split. No episode changes its task, so the tests share them. */
export function tasks(settings: unknown, split: Split, count: number): OfficeTask[] {
  const key = JSON.stringify([settings, split]);
  const some = known.get(key) ?? [];
  known.set(key, some);
  some.push(...drawn(settings, split, some.length, count));
  return some.slice(0, count);
}
