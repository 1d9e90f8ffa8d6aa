import { Semaphore } from "../core/semaphore.ts";

const rooms = new WeakMap<object, Semaphore>();

/**
 * Plays an episode within the environment's own limit of open episodes, which all rollouts of the process share. No job waits for another
 * while it has a place. A copy that waits to become a branch takes none.
 */
export function withinLimit<T>(environment: { readonly concurrency?: number }, play: () => Promise<T>): Promise<T> {
  if (environment.concurrency === undefined) return play();
  const room = rooms.get(environment) ?? new Semaphore(environment.concurrency);
  rooms.set(environment, room);
  return room.run(play);
}
